// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetTPM

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// A keychain whose keys are changed, in a temporary folder. No key of it stays in the kernel.
final class EpochStore {
    static let classes = ProtectionClass.allCases
    /// The classes whose items need an unlocked keychain.
    static let lockable: Set<ProtectionClass> = [
        .whenUnlocked, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly,
    ]

    let keychain = TestStore()
    let store: ItemStore

    init(tpm: TPMDevice = TPMDevice(), timeLimit: Duration = .seconds(5)) {
        let clock = keychain.clock
        store = ItemStore(
            KeychainLocation(folder: keychain.folder, tpm: tpm), timeLimit: timeLimit,
            stretching: .lowest, clock: { clock.nanoseconds })
    }

    deinit {
        try? store.keychain.lock(all: true)
        store.close()
    }

    var caller: Caller { keychain.caller }

    static func passcode(_ text: String) throws -> Passcode {
        try Passcode(SecretBytes(copying: Array(text.utf8).span))
    }

    /// An item of each class that can be added, named after its class.
    func addItems(_ classes: [ProtectionClass]) throws {
        for protectionClass in classes {
            try add("\(protectionClass)", as: protectionClass)
        }
    }

    func add(_ account: String, as protectionClass: ProtectionClass = .whenUnlocked) throws {
        _ = try store.add(
            Addition(.generic(account, as: protectionClass), value: .text("value of \(account)")),
            for: caller)
    }

    func value(_ account: String) throws -> String? {
        try store.value(of: .exact(account), for: caller)
            .map { String(decoding: $0.array, as: UTF8.self) }
    }

    /// The accounts whose values can be read and are right.
    func readable(of accounts: [String]) -> Set<String> {
        Set(accounts.filter { (try? value($0)) == "value of \($0)" })
    }

    func state() throws -> LockState { try store.keychain.status().state }

    /// How a call ends: nil if well.
    func code(_ body: () throws -> Void) -> KeychainFailure.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? KeychainFailure)?.code
        }
    }
}
