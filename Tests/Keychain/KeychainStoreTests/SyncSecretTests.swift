// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeyTestSupport
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// The sync secrets of a keychain, as a test sets and sees them.
private struct Secrets: Equatable {
    var f: [UInt8]?
    var u: [UInt8]?

    static let none = Secrets()

    static func random() -> Secrets {
        Secrets(f: Randomness.bytes(32), u: Randomness.bytes(32))
    }

    /// What is left of them in a locked keychain.
    var locked: Secrets { Secrets(f: f) }
}

extension ItemStore {
    fileprivate func set(_ secrets: Secrets, _ passcode: Passcode? = nil) throws {
        let (f, u) = (secrets.f ?? [], secrets.u ?? [])
        try keychain.setSyncSecrets(
            SyncSecret(copying: f.span), SyncSecret(copying: u.span), passcode: passcode)
    }

    /// The secrets that are open.
    fileprivate func secrets() throws -> Secrets {
        func bytes(_ secret: consuming SyncSecret?) -> [UInt8]? {
            switch secret {
            case .some(let secret): secret.withBytes { [UInt8](copying: $0) }
            case .none: nil
            }
        }
        let found = try readRows("test") { snapshot in
            Secrets(
                f: bytes(snapshot.state.syncSecret(.afterFirstUnlock)),
                u: bytes(snapshot.state.syncSecret(.whileUnlocked)))
        }
        return found ?? .none
    }
}

/// docs/SYNC.md §2.
@Suite struct `The sync secrets of a keychain` {
    private let epochs = TestKeychain()
    private let secrets = Secrets.random()
    private let passcode: Passcode
    private let other: Passcode
    private var store: ItemStore { epochs.store }

    init() throws {
        passcode = try TestKeychain.passcode("the passcode")
        other = try TestKeychain.passcode("the other passcode")
    }

    /// What a process sees that opens the files anew.
    private func secretsOfOtherProcess() throws -> Secrets {
        let other = epochs.otherProcess()
        defer { other.close() }
        return try other.secrets()
    }

    @Test func `A keychain without a passcode opens the sync secrets that were stored last`() throws
    {
        try epochs.add("a")
        #expect(try store.secrets() == .none && !store.keychain.hasSyncSecrets())
        try store.set(.random())
        try store.set(secrets)
        #expect(try store.secrets() == secrets && store.keychain.hasSyncSecrets())
        #expect(try secretsOfOtherProcess() == secrets)
        store.close()
        #expect(try store.secrets() == secrets)
        #expect(try epochs.value("a") == "value of a")
    }

    @Test func `Storing sync secrets creates a keychain`() throws {
        #expect(try !store.keychain.hasSyncSecrets())
        try store.set(secrets)
        #expect(try epochs.lockState() == .noPasscode)
        #expect(try store.secrets() == secrets)
    }

    @Test func `An unlocked keychain stays unlocked, within its limits, with new sync secrets`()
        throws
    {
        try store.keychain.setPasscode(passcode)
        try epochs.addItems(TestKeychain.classes)
        try store.keychain.unlock(passcode, for: .seconds(3_600), autoLock: .seconds(1_800))
        try store.set(secrets, passcode)
        #expect(try store.secrets() == secrets)
        #expect(try secretsOfOtherProcess() == secrets)
        let status = try store.keychain.status()
        #expect(status.state == .unlocked && status.autoLock == .seconds(1_800))
        #expect(try #require(status.remaining) <= .seconds(3_600))
        let names = TestKeychain.classes.map { "\($0)" }
        #expect(epochs.readable(of: names) == Set(names))
    }

    // Promise: 7.13
    @Test func `A locked keychain stays locked with new sync secrets, and opens that of scope f`()
        throws
    {
        try store.keychain.setPasscode(passcode)
        try store.keychain.lock()
        try store.set(secrets, passcode)
        #expect(try epochs.lockState() == .locked)
        #expect(try store.secrets() == secrets.locked)
        #expect(try secretsOfOtherProcess() == secrets.locked)
        try store.keychain.unlock(passcode)
        #expect(try store.secrets() == secrets)
        try store.keychain.lock()
        #expect(try store.secrets() == secrets.locked)
    }

    // Promise: 7.13
    @Test func `A keychain before its first unlock opens no sync secret`() throws {
        try store.keychain.setPasscode(passcode)
        try store.keychain.lock(all: true)
        try store.set(secrets, passcode)
        #expect(try epochs.lockState() == .beforeFirstUnlock)
        #expect(failure { _ = try store.secrets() } == .locked)
        #expect(try store.keychain.hasSyncSecrets())
        try store.keychain.unlock(passcode)
        #expect(try store.secrets() == secrets)
    }

    // Promise: 8.10
    @Test func `The sync secrets of a keychain are changed only with its passcode`() throws {
        try store.keychain.setPasscode(passcode)
        try store.set(secrets, passcode)
        for refused in [nil, other] {
            let expected: KeychainFailure.Code =
                refused == nil ? .interactionNotAllowed : .authenticationFailed
            #expect(failure { try store.set(.random(), refused) } == expected)
        }
        #expect(try store.secrets() == secrets)
        #expect(try epochs.lockState() == .unlocked)
    }

    // Promise: 8.10
    @Test func `Every key change keeps the sync secrets`() throws {
        try store.set(secrets)
        try store.keychain.setPasscode(passcode)
        #expect(try store.secrets() == secrets)
        try store.keychain.changePasscode(passcode, to: other)
        #expect(try store.secrets() == secrets)
        try store.keychain.rotateKeys(other)
        #expect(try store.secrets() == secrets)
        try store.keychain.lock()
        try store.keychain.rotateKeys(other, revokingRecoveryKey: .any)
        #expect(try store.secrets() == secrets.locked)
        try store.keychain.removePasscode(other)
        #expect(try store.secrets() == secrets)
        try store.keychain.rotateKeys(nil)
        #expect(try secretsOfOtherProcess() == secrets)
    }

    @Test func `A recovery with the device key keeps the sync secrets`() throws {
        try store.keychain.setPasscode(passcode)
        try store.set(secrets, passcode)
        let text = try store.keychain.createRecoveryKey(passcode)
        #expect(try store.secrets() == secrets)
        #expect(try !store.keychain.itemsLostByRecovery().areSyncSecretsLost)
        try store.keychain.recover(with: text, settingPasscode: other)
        #expect(try store.secrets() == secrets)
    }

    // Promise: 8.10
    @Test func `A recovery without the device key loses the sync secrets, and says so before`()
        throws
    {
        try epochs.add("a")
        let text = try store.keychain.createRecoveryKey(nil)
        let path = epochs.folder + "/device/device.key"
        let key = try Data(contentsOf: URL(fileURLWithPath: path))
        try FileManager.default.removeItem(atPath: path)
        store.close()
        #expect(try !store.keychain.itemsLostByRecovery().areSyncSecretsLost)
        try key.write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        store.close()
        try store.set(secrets)
        try FileManager.default.removeItem(atPath: path)
        store.close()
        #expect(try store.keychain.itemsLostByRecovery().areSyncSecretsLost)
        try store.keychain.recover(with: text, settingPasscode: nil)
        #expect(try !store.keychain.hasSyncSecrets() && store.secrets() == .none)
        #expect(try epochs.value("a") == "value of a")
        try store.set(secrets)
        #expect(try store.secrets() == secrets)
    }
}

@Suite(.enabled(if: Swtpm.isThere, Swtpm.isMissing)) struct `The sync secrets of a bound keychain` {
    private let secrets = Secrets.random()

    @Test(arguments: [false, true])
    func `Binding a keychain to a TPM keeps its sync secrets`(_ hasPasscode: Bool) throws {
        let bound = try BoundKeychain()
        let passcode = hasPasscode ? try TestKeychain.passcode("the passcode") : nil
        if let passcode { try bound.store.keychain.setPasscode(passcode) }
        try bound.store.set(secrets, passcode)
        try bound.bind(passcode)
        #expect(try bound.store.secrets() == secrets)
        let others = Secrets.random()
        try bound.store.set(others, passcode)
        #expect(try bound.store.secrets() == others)
        try bound.forget()
        if let passcode { try bound.store.keychain.unlock(passcode) }
        #expect(try bound.store.secrets() == others)
    }
}
