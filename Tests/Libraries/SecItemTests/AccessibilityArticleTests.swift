// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

/// Sources/Libraries/Valet/Valet.docc/ChoosingAnAccessibility.md, which people choose by, against
/// the tables that the calls themselves are held to.
@Suite struct `The article on accessibilities` {
    private struct Row {
        let name: String
        let cells: [String]
    }

    /// The columns of the article, in the order of its states.
    private static let columns: [ValetKeychain.LockState] = [
        .absent, .noPasscode, .beforeFirstUnlock, .unlocked, .locked, .keyUnavailable, .incomplete,
    ]

    @Test(arguments: [
        ("Reading an item that is stored", StateOperation.typedValue),
        ("Storing an item", .set),
    ])
    func `The article on accessibilities says what calls answer for each class and state`(
        _ heading: String, _ operation: StateOperation
    ) throws {
        let rows = try rows(under: heading)
        #expect(rows.map(\.name).sorted() == ProtectionClass.allCases.map { "`\($0)`" }.sorted())
        for protectionClass in ProtectionClass.allCases {
            let row = try #require(rows.first { $0.name == "`\(protectionClass)`" })
            try compare(row, operation, protectionClass)
        }
    }

    @Test(arguments: [
        ("looking for a missing key", StateOperation.typedMissing),
        ("removing an item that is stored", .deleteByKey),
    ])
    func `The article on accessibilities says what calls for all classes answer in each state`(
        _ name: String, _ operation: StateOperation
    ) throws {
        let rows = try rows(under: "Looking for a missing item, and removing")
        let row = try #require(rows.first { $0.name == name })
        for protectionClass in ProtectionClass.allCases
        where protectionClass != .whenPasscodeSetThisDeviceOnly {
            try compare(row, operation, protectionClass)
        }
    }

    @Test func `The article on accessibilities says which classes leave the device`() throws {
        let rows = try rows(under: "What becomes of an item")
        for protectionClass in ProtectionClass.allCases {
            let row = try #require(rows.first { $0.name == "`\(protectionClass)`" })
            let leaves = !protectionClass.isThisDeviceOnly
            #expect(row.cells.first == (leaves ? "✓" : "–"), "\(protectionClass)")
            #expect(row.cells.last == (leaves ? "opens" : "lost"), "\(protectionClass)")
        }
    }

    private func compare(
        _ row: Row, _ operation: StateOperation, _ protectionClass: ProtectionClass
    ) throws {
        let table = try #require(StateTable.all.first { $0.operation == operation })
        #expect(row.cells.count == Self.columns.count)
        for (state, cell) in zip(TableState.allCases, row.cells) {
            #expect(
                try status(cell) == table.status(protectionClass, state),
                "\(row.name), \(protectionClass), \(state): \(cell)")
        }
    }

    /// The status that a cell stands for: a check mark, or the name of a code in backticks.
    private func status(_ cell: String) throws -> Int32 {
        if cell == "✓" { return errSecSuccess }
        let name = cell.trimmingCharacters(in: CharacterSet(charactersIn: "`"))
        return try #require(KeychainFailure.Code(rawValue: name), "\(cell)").status
    }

    /// The rows of the first table under a heading, whose columns are checked if they are states.
    private func rows(under heading: String) throws -> [Row] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../.."
        let article = try String(
            contentsOfFile: root + "/Sources/Libraries/Valet/Valet.docc/ChoosingAnAccessibility.md",
            encoding: .utf8)
        let lines = article.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix("#") && $0.hasSuffix(heading) })
        let table = lines[start...].drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }
        let cells = table.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let header = try #require(cells.first)
        if header.count > Self.columns.count {
            #expect(header.dropFirst() == Self.columns.map(\.rawValue)[...])
        }
        return cells.dropFirst(2).map { Row(name: $0[0], cells: Array($0.dropFirst())) }
    }
}
