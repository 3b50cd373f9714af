// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainStore
import ValetTestValues

@testable import ValetKeychainServices
@testable import ValetSecItem

/// Random calls in a keychain. `VALET_FUZZ_ROUNDS` makes each seed's more than 1000.
@Suite struct `Calls with any dictionary` {
    static let rounds = ProcessInfo.processInfo.environment["VALET_FUZZ_ROUNDS"].flatMap(Int.init)
    static let seeds: [UInt64] = Array(1...8)

    @Test(arguments: seeds)
    func `A random call returns a documented code, and changes nothing if it fails`(_ seed: UInt64)
        throws
    {
        let documented = try DocumentedCodes()
        var random = SplitMix(seed: seed)
        let keychain = RuleKeychain()
        var content = keychain.content
        for round in 0..<(Self.rounds ?? 1000) {
            let call = Call.random(&random, references: keychain.references)
            let status = keychain.status(call)
            #expect(documented.codes.contains(status), "round \(round): \(status) of \(call.kind)")
            let after = keychain.content
            if status != errSecSuccess || call.isSearch {
                #expect(after == content, "round \(round): \(status) of \(call.kind)")
            }
            content = after
            // So many items that a search has to choose, and so few that a round is short.
            if content.count > 12 { content = keychain.empty() }
        }
    }

    @Test(arguments: seeds)
    func `A repeated random call returns the same`(_ seed: UInt64) {
        let statuses = (0..<2).map { _ in
            var random = SplitMix(seed: seed)
            let keychain = RuleKeychain()
            return (0..<100).map { _ in keychain.status(.random(&random)) }
        }
        #expect(statuses[0] == statuses[1])
    }
}

/// The codes that docs/SECITEM-COMPATIBILITY.md says a call may answer.
private struct DocumentedCodes {
    let codes: Set<OSStatus>

    init(_ file: String = #filePath) throws {
        let root = URL(fileURLWithPath: file).deletingLastPathComponent()
            .appendingPathComponent("../../../..")
        let page = root.appendingPathComponent("docs/SECITEM-COMPATIBILITY.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let section = text.components(separatedBy: "## Codes").last ?? ""
        // Of each row the first column: names in backticks, each followed by its number.
        let columns = section.split(separator: "\n").compactMap { line in
            line.hasPrefix("| `errSec") ? line.split(separator: "|").first : nil
        }
        codes = Set(
            columns.flatMap { $0.split(whereSeparator: { " ,".contains($0) }) }
                .compactMap { OSStatus($0) })
        try #require(codes.isSuperset(of: [errSecSuccess, errSecParam, errSecItemNotFound]))
    }
}

extension Call {
    /// One of the four calls, with dictionaries of keys and values right and wrong.
    fileprivate static func random(
        _ random: inout SplitMix, references: [Data] = []
    ) -> Call {
        func dictionary() -> Keys {
            let given: Keys = [String: Any].random(&random, references: references)
            return ["class": nil].merging(given) { $1 }
        }
        switch UInt8.random(in: 0..<7, using: &random) {
        case 0, 1: return .add(dictionary())
        case 2, 3: return .copy(dictionary())
        case 4, 5:
            let query = dictionary()
            // Or else nearly all would end at the class.
            return .update(query, dictionary().filter { $0.key != "class" || random.oneIn(9) })
        default: return .delete(dictionary())
        }
    }

    fileprivate var isSearch: Bool {
        if case .copy = kind { true } else { false }
    }
}

/// An item in all its parts.
private struct Snapshot: Hashable {
    let group: String
    let isSynchronizable: Bool
    let protectionClass: ProtectionClass
    let attributes: ItemAttributes
    let value: Data?
}

extension RuleKeychain {
    /// Every item that there is, by its persistent reference.
    fileprivate var content: [Data: Snapshot] {
        var content: [Data: Snapshot] = [:]
        for itemClass in ItemClass.allCases {
            let query = ItemQuery(itemClass, synchronizable: .any)
            for item in (try? service.copy(query, [.attributes, .value]).items) ?? [] {
                content[Data(item.reference.bytes)] = Snapshot(
                    group: item.accessGroup.rawValue, isSynchronizable: item.isSynchronizable,
                    protectionClass: item.protectionClass, attributes: item.attributes,
                    value: item.value?.data)
            }
        }
        return content
    }

    fileprivate var references: [Data] {
        content.keys.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Deletes everything; what is left.
    fileprivate func empty() -> [Data: Snapshot] {
        for itemClass in ItemClass.allCases {
            _ = try? service.delete(ItemQuery(itemClass, synchronizable: .any))
        }
        return content
    }
}
