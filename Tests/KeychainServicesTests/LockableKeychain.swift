// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetKeychainModel
import ValetKeychainStore
import ValetSecretMemory

@testable import ValetKeychainServices
@testable import ValetSecItem

/// A keychain in a folder of its own, whose passcode costs little; its keys go with it.
final class LockableKeychain: Sendable {
    let folder: String
    let session: KeychainSession
    var store: ItemStore { session.store }

    init() {
        folder =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-lock-tests-\(UUID().uuidString)").path
        session = KeychainSession(
            ItemStore(KeychainLocation(folder: folder), stretching: .lowest),
            Caller(applicationIdentifier: "app", accessGroups: []))
    }

    deinit {
        // None to lock, where a test made none.
        try? store.lock(all: true)
        store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    static let passcode = "correct"

    /// With an item of each class, and a passcode.
    static func withPasscode() throws -> LockableKeychain {
        let keychain = LockableKeychain()
        try keychain.add("ak", .whenUnlocked)
        try keychain.add("ck", .afterFirstUnlock)
        try keychain.setPasscode()
        return keychain
    }

    func setPasscode() throws {
        try store.setPasscode(KeychainPasscode(.text(Self.passcode)))
    }

    func unlock(_ text: String = passcode, for duration: Duration? = nil) throws {
        try session.unlock(.text(text), for: duration)
    }

    func add(_ account: String, _ protectionClass: ProtectionClass) throws {
        let item = NewItem(
            .genericPassword, attributes: [.account: .text(account)],
            protectionClass: protectionClass)
        try session.add(item, value: SecretValue(copying: Array("value".utf8).span))
    }

    var changes: ValetKeychain.LockStateChanges {
        ValetKeychain.LockStateChanges { [session] () throws(KeychainFailure) in session }
    }
}

extension SecretBytes {
    static func text(_ text: String) -> SecretBytes {
        SecretBytes(copying: Array(text.utf8).span)
    }
}
