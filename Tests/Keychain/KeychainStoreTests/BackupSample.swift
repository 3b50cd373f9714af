// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// The path of a backup file beside no keychain, which goes with the object.
final class BackupPath: Sendable {
    static let passphrase = "open sesame"

    let path = TestKeychain.newFolder() + ".backup"

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var bytes: [UInt8] {
        get throws { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }
    }

    func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }

    /// Writes in the file itself, which somebody may have open.
    func put(_ bytes: [UInt8], at offset: Int) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    func cut(to byteCount: Int) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.truncate(atOffset: UInt64(byteCount))
        try file.close()
    }

    var exists: Bool { FileManager.default.fileExists(atPath: path) }

    static func secret(_ text: String = passphrase) -> SecretBytes {
        SecretBytes(copying: Array(text.utf8).span)
    }
}

extension TestKeychain {
    /// A keychain with items of both classes, several groups and all classes of protection.
    static func withEverything() throws -> TestKeychain {
        let keychain = TestKeychain()
        for protectionClass in ProtectionClass.allCases
        where protectionClass != .whenPasscodeSetThisDeviceOnly {
            try keychain.add(
                .generic("of class \(protectionClass.code)", as: protectionClass), "value")
            keychain.clock.advance(seconds: 1)
        }
        try keychain.add(
            .generic(
                "decorated", service: "s",
                [
                    .label: .text("läbel"), .comment: .bytes([0, 255]), .creator: .number(-7),
                    .generic: .bytes([1]), .isInvisible: .number(1), .syncViewHint: .text("hint"),
                ]
            ).inGroup("two"), "décor")
        try keychain.add(.generic("synchronized", isSynchronizable: true), "everywhere")
        try keychain.add(.generic("without value"), nil)
        try keychain.add(.generic("empty"), "")
        try keychain.add(
            .internet(
                "net",
                [.port: .number(443), .path: .text("/p"), .protocol: .number(1_752_462_448)]),
            "web")
        try keychain.add(.generic("large"), String(repeating: "x", count: 200_000))
        try keychain.add(.generic("gone", isSynchronizable: true))
        try keychain.delete(.exact("gone", .synchronizedOnly))
        return keychain
    }

    /// How many items of ``withEverything()`` may leave.
    static let migratableCount = 9

    @discardableResult
    func backUp(
        to file: BackupPath, skippingDamaged: Bool = false, replacing: Bool = false
    ) throws -> BackupReport {
        var request = BackupRequest(path: file.path)
        request.cost = .lowest
        request.skipsDamaged = skippingDamaged
        request.isReplacing = replacing
        return try store.keychain.backUp(request, passphrase: BackupPath.secret())
    }

    func open(_ file: BackupPath) throws -> OpenedBackup {
        try BackupFile(at: file.path, besides: store).open(with: BackupPath.secret())
    }

    @discardableResult
    func restore(
        _ file: BackupPath, _ policy: RestorePolicy?, isDryRun: Bool = false
    ) throws -> RestoreReport {
        try store.keychain.restore(open(file), policy, isDryRun: isDryRun)
    }

    /// All items of both classes, by everything that there is to know of them.
    func everything() throws -> Set<KnownItem> {
        let internet = ItemQuery(.internetPassword, attributes: [:], synchronizable: .any)
        return Set(try (items(.generic()) + items(internet)).map(KnownItem.init))
    }

    /// What every write of a row changes.
    func seals() throws -> [[UInt8]] {
        try rows().map { $0.names + ($0.secret ?? []) }
    }
}

/// An item, to be compared.
struct KnownItem: Hashable {
    let itemClass: ItemClass
    let group: AccessGroup
    let isSynchronizable: Bool
    let protectionClass: ProtectionClass
    let attributes: ItemAttributes
    let value: [UInt8]?

    init(_ item: StoredItem) {
        itemClass = item.itemClass
        group = item.accessGroup
        isSynchronizable = item.isSynchronizable
        protectionClass = item.protectionClass
        attributes = item.attributes
        value = item.value?.array
    }

    var mayLeave: Bool {
        !protectionClass.isThisDeviceOnly
    }
}

extension OpenedBackup {
    /// All items, in the order of the file.
    func items() throws -> [BackedUpItem] {
        var items: [BackedUpItem] = []
        try forEachItem { items.append($0) }
        return items
    }
}
