// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetDatabase
internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainServices
package import ValetKeychainStore
package import ValetSealing
internal import ValetSystem

/// A keychain in a folder of its own, with a passcode that is cheap to check. Its keys end with it.
package final class LockableKeychain: Sendable {
    /// Where it is.
    package let folder: String
    /// A session of one application in it.
    package let session: KeychainSession
    /// The keychain.
    package var store: ItemStore { session.store }

    /// A keychain that does not exist yet.
    package init() {
        folder =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-lock-tests-\(UUID().uuidString)").path
        session = KeychainSession(
            ItemStore(KeychainLocation(folder: folder), stretching: .lowest),
            Caller(applicationIdentifier: "app", accessGroups: []))
    }

    deinit {
        // None to lock, where a test made none.
        try? store.keychain.lock(all: true)
        store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The passcode.
    package static let passcode = "correct"

    /// With an item of each class, and a passcode.
    package static func withPasscode() throws -> LockableKeychain {
        let keychain = LockableKeychain()
        try keychain.add("ak", .whenUnlocked)
        try keychain.add("ck", .afterFirstUnlock)
        try keychain.setPasscode()
        return keychain
    }

    /// Sets the passcode.
    package func setPasscode() throws {
        try store.keychain.setPasscode(Passcode(.text(Self.passcode)))
    }

    /// Unlocks it with what a person types.
    package func unlock(_ text: String = passcode, for duration: Duration? = nil) throws {
        try store.keychain.unlock(Passcode(.text(text)), for: duration)
    }

    /// Adds an item of that class.
    package func add(_ account: String, _ protectionClass: ProtectionClass) throws {
        let item = NewItem(
            .genericPassword, attributes: [.account: .text(account)],
            protectionClass: protectionClass)
        try session.add(item, value: SecretValue(copying: Array("value".utf8).span))
    }

    /// Changes the database behind the keychain's back, as a failing disk may.
    package func tamper(_ sql: StaticString) throws {
        store.close()
        let directory = try PrivateDirectory.open(folder, creating: false)
        let connection = try Connection(
            to: KeychainFile.database, in: directory, for: .readWrite,
            deadline: Deadline(after: .seconds(5)))
        try Statement(sql, on: connection).start().finish()
        try connection.close()
    }

    /// Damages the item that was stored first.
    package func damageFirstItem() throws {
        try tamper(
            """
            UPDATE item SET salt = salt + 1 WHERE number = (SELECT min(number) FROM item)
            """)
    }
}

extension SecretBytes {
    /// The bytes of `text`, as a person types them.
    package static func text(_ text: String) -> SecretBytes {
        SecretBytes(copying: Array(text.utf8).span)
    }
}
