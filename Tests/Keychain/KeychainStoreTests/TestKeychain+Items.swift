// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import ValetDatabase
import ValetKeychainModel
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

extension AccessGroup: ExpressibleByStringLiteral {
    /// The group of that name.
    public init(stringLiteral value: String) { self.init(value) }
}

extension SecretValue {
    static func bytes(_ bytes: [UInt8]) -> SecretValue { SecretValue(copying: bytes.span) }

    var array: [UInt8] { withBytes { bytes in [UInt8](copying: bytes) } }
}

extension [UInt8] {
    init(copying bytes: Span<UInt8>) { self = bytes.indices.map { bytes[$0] } }
}

extension NewItem {
    /// A generic password.
    static func generic(
        _ account: String, service: String = "service",
        _ more: ItemAttributes = [:], isSynchronizable: Bool = false,
        as protectionClass: ProtectionClass = .whenUnlocked
    ) -> NewItem {
        NewItem(
            .genericPassword,
            attributes: ([.account: .text(account), .service: .text(service)] as ItemAttributes)
                .overwritten(by: more),
            isSynchronizable: isSynchronizable, protectionClass: protectionClass)
    }

    /// The item, but in that group.
    func inGroup(_ group: AccessGroup) -> NewItem {
        var item = self
        item.accessGroup = group
        return item
    }

    /// An internet password.
    static func internet(
        _ account: String, _ more: ItemAttributes = [:]
    ) -> NewItem {
        let names: ItemAttributes = [.account: .text(account), .server: .text("example.com")]
        return NewItem(.internetPassword, attributes: names.overwritten(by: more))
    }
}

extension ItemQuery {
    /// All of a primary key of a generic password.
    static func exact(
        _ account: String, service: String = "service", group: AccessGroup? = nil,
        _ synchronizable: Synchronizable = .localOnly
    ) -> ItemQuery {
        ItemQuery(
            .genericPassword, attributes: [.account: .text(account), .service: .text(service)],
            accessGroup: group, synchronizable: synchronizable)
    }

    /// Generic passwords with these attributes.
    static func generic(
        _ attributes: ItemAttributes = [:], _ synchronizable: Synchronizable = .any
    ) -> ItemQuery {
        ItemQuery(.genericPassword, attributes: attributes, synchronizable: synchronizable)
    }
}

extension TestKeychain {
    /// Adds an item.
    @discardableResult
    func add(_ item: NewItem, _ value: String? = "value") throws -> StoredItem {
        try store.add(Addition(item, value: value.map(SecretValue.text)), for: caller)
    }

    func set(_ item: NewItem, _ value: String) throws {
        try store.set(Addition(item, value: .text(value)), for: caller)
    }

    /// The value of one item as text.
    func value(_ query: ItemQuery) throws -> String? {
        try store.value(of: query, for: caller).map { String(decoding: $0.array, as: UTF8.self) }
    }

    /// The value of one item, read by its name: the fast path.
    func value(
        named account: String, service: String = "service", group: AccessGroup? = nil,
        isSynchronizable: Bool = false, as protectionClass: ProtectionClass = .whenUnlocked
    ) throws -> String? {
        let service = PasswordService(
            service: service, accessGroup: group, isSynchronizable: isSynchronizable,
            protectionClass: protectionClass)
        let name = PasswordName(account, in: service)
        return try store.value(of: name, for: caller).map {
            String(decoding: $0.array, as: UTF8.self)
        }
    }

    /// All items that match and can be read, with everything; none if none matches.
    func items(_ query: ItemQuery, _ parts: ItemParts = [.attributes, .value]) throws
        -> [StoredItem]
    {
        do throws(KeychainFailure) {
            return try store.copy(query, parts, for: caller).parts.items
        } catch {
            if error.code == .itemNotFound { return [] }
            throw error
        }
    }

    func item(_ query: ItemQuery) throws -> StoredItem? { try items(query).first }

    /// The accounts of all items that match, sorted.
    func accounts(_ query: ItemQuery) throws -> [String] {
        try items(query, .attributes).compactMap(\.account).sorted()
    }

    @discardableResult
    func update(_ query: ItemQuery, _ changes: ItemChanges, _ value: String? = nil) throws -> Int {
        try store.update(query, changes, value: value.map(SecretValue.text), for: caller)
    }

    @discardableResult
    func delete(_ query: ItemQuery) throws -> Int { try store.delete(query, for: caller) }

    static let classes = ProtectionClass.allCases
    /// The classes whose items need an unlocked keychain.
    static let lockable: Set<ProtectionClass> = [
        .whenUnlocked, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly,
    ]

    /// An item of each class that can be added, named after its class.
    func addItems(_ classes: [ProtectionClass]) throws {
        for protectionClass in classes {
            try add("\(protectionClass)", as: protectionClass)
        }
    }

    func value(_ account: String) throws -> String? { try value(.exact(account)) }

    /// The accounts whose values can be read and are right.
    func readable(of accounts: [String]) -> Set<String> {
        Set(accounts.filter { (try? value($0)) == "value of \($0)" })
    }
}

extension StoredItem {
    var account: String? {
        guard case .text(let text)? = attributes[.account] else { return nil }
        return text
    }

    var text: String? { value.map { String(decoding: $0.array, as: UTF8.self) } }

    func date(_ attribute: Attribute) -> Double? {
        guard case .date(let date)? = attributes[attribute] else { return nil }
        return date
    }
}

/// The code that `body` ends with; nil if it ends well.
func failure(_ body: () throws -> Void) -> KeychainFailure.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? KeychainFailure)?.code
    }
}
