// SPDX-License-Identifier: Apache-2.0

import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing

/// How long calls take, in milliseconds, for `scripts/benchmark --presence`: `time VERB …`.
///
/// Other than the verbs of that name it stretches passcodes as much as is done for people.
enum Timing {
    static func perform(_ words: [String]) throws -> String {
        let session = try KeyChangeVerbs.session(stretching: .calibrated)
        let store = session.store
        let passcode = words.dropFirst().first.flatMap { $0 == "-" ? nil : $0 }
        let typed = try passcode.map { text throws(KeychainFailure) in
            try Passcode(SecretBytes(copying: Array(text.utf8).span))
        }
        let clock = ContinuousClock()
        let start = clock.now
        switch (words[0], typed) {
        case ("passcode", .some(let typed)): try store.keychain.setPasscode(typed)
        case ("unlock", .some(let typed)): try store.keychain.unlock(typed)
        case ("bind", let typed): try store.keychain.rotateKeys(typed, movingDeviceKeyTo: .tpm)
        case ("rotate", let typed): try store.keychain.rotateKeys(typed)
        case ("read", _):
            let name = "\(ProtectionClass.whenUnlocked)"
            let query = ItemQuery(.genericPassword, attributes: [.account: .text(name)])
            _ = try session.value(of: query)
        default: return "unknown"
        }
        let time = start.duration(to: clock.now) / .milliseconds(1)
        return "\((time * 100).rounded() / 100)"
    }
}
