// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

/// spec/secitem.md §2.1: every kind of value in every family of attributes.
@Suite struct `The rules of coercion` {
    /// What the families make of a value; nil for -50.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let value: @Sendable () -> Any
        let blob: AttributeInput?
        let number: AttributeInput?
        let string: AttributeInput?
        var date: AttributeInput?

        init(
            _ description: String, _ value: @autoclosure @escaping @Sendable () -> Any,
            blob: AttributeInput? = nil, number: AttributeInput? = nil,
            string: AttributeInput? = nil
        ) {
            testDescription = description
            self.value = value
            self.blob = blob
            self.number = number
            self.string = string
        }

        static func text(
            _ description: String, _ value: @autoclosure @escaping @Sendable () -> Any,
            _ text: String, number: Int64? = nil
        ) -> Row {
            Row(
                description, value(), blob: .text(text),
                number: number.map { .number($0) } ?? .text(text), string: .text(text))
        }

        static func bytes(
            _ description: String, _ value: @autoclosure @escaping @Sendable () -> Any,
            _ bytes: [UInt8], _ text: String?
        ) -> Row {
            Row(description, value(), blob: .bytes(bytes), string: text.map { .text($0) })
        }

        static func number(
            _ description: String, _ value: @autoclosure @escaping @Sendable () -> Any,
            _ number: Int64
        ) -> Row {
            Row(description, value(), blob: .number(number), number: .number(number))
        }

        static func boolean(
            _ description: String, _ value: @autoclosure @escaping @Sendable () -> Any,
            _ number: Int64
        ) -> Row {
            Row(description, value(), number: .number(number))
        }

        static func date(
            _ description: String, _ value: @autoclosure @escaping @Sendable () -> Any,
            _ seconds: Double
        ) -> Row {
            var row = Row(description, value())
            row.date = .date(seconds)
            return row
        }

        func expected(_ family: AttributeFamily) -> AttributeInput? {
            switch family {
            case .blob: blob
            case .number: number
            case .string: string
            case .date: date
            case .accessControl: nil
            }
        }
    }

    /// All attributes that no rule of their own is about, by the class that has them.
    static let attributes: [(ItemClass, Attribute)] = [
        ItemClass.genericPassword, .internetPassword,
    ]
    .flatMap { itemClass in
        let special: Set<Attribute> = [
            .accessGroup, .synchronizable, .accessible, .accessControl,
        ]
        return Attribute.allCases
            .filter { $0.isOfSecItem && $0.exists(in: itemClass) && !special.contains($0) }
            .map { (itemClass, $0) }
    }

    @Test(arguments: Row.all)
    func `The rules of coercion hold for what each call accepts`(_ row: Row) {
        for (itemClass, attribute) in Self.attributes {
            let status = row.expected(attribute.family) == nil ? errSecParam : errSecSuccess
            let base: NSDictionary = [kSecClass: itemClass.code]
            let dictionary = base + [attribute.rawValue: row.value()]
            for call in SecItemCall.allCases {
                #expect(parseStatus(call, dictionary) == status, "\(attribute) in \(call)")
            }
            let changes: NSDictionary = [attribute.rawValue: row.value()]
            #expect(changesStatus(changes, of: base) == status, "\(attribute) in changes")
        }
    }

    @Test(arguments: Row.all)
    func `The rules of coercion hold for what is returned and found`(_ row: Row) throws {
        let keychain = RuleKeychain()
        for itemClass in [ItemClass.genericPassword, .internetPassword] {
            let taken = Self.attributes.filter { $0.0 == itemClass }.map(\.1)
                .filter { $0.family != .date && row.expected($0.family) != nil }
            if taken.isEmpty { continue }
            let item = NSMutableDictionary(dictionary: [kSecClass: itemClass.code])
            for attribute in taken { item[attribute.rawValue] = row.value() }
            _ = try keychain.service.add(item)
            let query = item + [kSecReturnAttributes: true]
            let found = try #require(try keychain.service.copyMatching(query) as? [String: Any])
            for attribute in taken {
                let expected = row.expected(attribute.family)
                // Hint and token are absent where they are empty: nothing is their default (§2.2).
                let isUnsaid = attribute.family == .string && expected == .text("")
                let stored = found[attribute.rawValue].map { AttributeInput($0) }
                #expect(stored == (isUnsaid ? nil : expected), "\(attribute)")
            }
        }
    }
}

/// What the parse of what an update sets ends with, for items of the class in `query`.
private func changesStatus(_ changes: NSDictionary, of query: NSDictionary) -> OSStatus {
    do throws(KeychainFailure) {
        _ = try UpdateRequest(query, changes)
        return errSecSuccess
    } catch {
        return error.status
    }
}
