// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import ValetCoreFoundationNames
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing
import ValetSecItem

/// Lets the library handle a secret that nothing else in the process has ever seen.
enum Leak {
    /// Must be found in the process's memory, or the search is worth nothing.
    private static let canary = Mutex(bytes(seed: 2))

    /// The same bytes as `pattern` in `leaks.py` makes; neither is written down anywhere.
    private static func bytes(seed: UInt32) -> [UInt8] {
        var state = seed
        return (0..<64).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return UInt8(truncatingIfNeeded: state >> 24)
        }
    }

    /// Stores the secret, reads it, removes it and closes the keychain.
    static func handleSecret() throws {
        _ = canary.withLock { $0.count }
        let session = try KeychainSession.current()
        let item = NewItem(.genericPassword, attributes: [.account: .text("leak")])
        let secret = secret()
        try session.set(item, value: secret)
        let query = ItemQuery(.genericPassword, attributes: [.account: .text("leak")])
        let found = try session.value(of: query)
        let isRight = found?.withBytes { $0.count == 64 } == true
        try session.delete(query)
        session.store.close()
        guard isRight else { throw CocoaError(.fileReadCorruptFile) }
    }

    /// Sets the secret as passcode, unlocks with it in every way that there is, and locks.
    static func handlePasscode() throws {
        _ = canary.withLock { $0.count }
        let store = ItemStore(try .ofThisProcess(), stretching: .lowest)
        try store.keychain.setPasscode(Passcode(SecretBytes(takingOver: bytes(seed: 1))))
        try ValetKeychain.lock(all: true)
        try Application.finish { () async throws(KeychainFailure) in
            try await ValetKeychain.unlock(passcode: bytes(seed: 1))
        }
        try ValetKeychain.lock(all: true)
        var typed = bytes(seed: 1)
        defer { for index in typed.indices { typed[index] = 0 } }
        try ValetKeychain.unlock(passcode: typed.span)
        try ValetKeychain.lock(all: true)
    }

    /// Adds an item under the secret as application password, reads it and forgets the password.
    static func handlePassword() throws {
        _ = canary.withLock { $0.count }
        let context = LAContext()
        var typed = bytes(seed: 1)
        var password = Data(count: typed.count)
        for index in typed.indices {
            password[index] = typed[index]
            typed[index] = 0
        }
        context.setCredential(password, type: .applicationPassword)
        password.resetBytes(in: password.indices)
        let status = Authenticating.seal("leak", "value", context)
        let value = Authenticating.find("leak", context)
        context.invalidate()
        guard status == "0", value == "value" else { throw CocoaError(.fileReadCorruptFile) }
    }

    /// The caller's copy is wiped here: it is not the library's to wipe.
    private static func secret() -> SecretValue {
        var bytes = bytes(seed: 1)
        let value = SecretValue(copying: bytes.span)
        for index in bytes.indices { bytes[index] = 0 }
        return value
    }

    /// A passcode that no command names.
    static func pattern(seed: UInt32) -> SecretBytes {
        var bytes = bytes(seed: seed)
        let value = SecretBytes(copying: bytes.span)
        for index in bytes.indices { bytes[index] = 0 }
        return value
    }
}
