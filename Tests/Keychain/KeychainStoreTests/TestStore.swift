// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import ValetDatabase
import ValetKeychainModel
import ValetSealing
import ValetSystem

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// A keychain in a temporary folder, which goes with the object.
final class TestStore: Sendable {
    let folder: String
    let store: ItemStore
    let clock = TestClock()
    /// An application with two groups of its own.
    let caller = Caller(applicationIdentifier: "app", accessGroups: ["one", "two"])

    init() {
        folder = Self.newFolder()
        let clock = clock
        store = ItemStore(KeychainLocation(folder: folder), clock: { clock.nanoseconds })
    }

    /// A copy of another keychain, which no program has open.
    convenience init(copying other: TestStore) throws {
        self.init()
        try FileManager.default.copyItem(atPath: other.folder, toPath: folder)
    }

    deinit {
        store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The path of a folder that does not exist.
    static func newFolder() -> String {
        FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-store-tests-\(UUID().uuidString)").path
    }

    /// Has the next call open everything anew.
    func reopen() { store.close() }

    /// A second set of connections and keys for the same files, as another process has.
    func otherProcess() -> ItemStore {
        let clock = clock
        return ItemStore(KeychainLocation(folder: folder + "/."), clock: { clock.nanoseconds })
    }
}

/// A clock that stands still until it is set.
final class TestClock: Sendable {
    private let time = Mutex<Int64>(1_800_000_000_000_000_000)

    var nanoseconds: Int64 {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }

    func advance(seconds: Double) { nanoseconds += Int64(seconds * 1e9) }
}

extension AccessGroup: ExpressibleByStringLiteral {
    /// The group of that name.
    public init(stringLiteral value: String) { self.init(value) }
}

extension SecretValue {
    /// The value that the text is.
    static func text(_ text: String) -> SecretValue { bytes(Array(text.utf8)) }

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

extension TestStore {
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
