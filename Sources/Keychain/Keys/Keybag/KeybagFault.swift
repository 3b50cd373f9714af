// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// Why a keybag does not open. ``KeychainFailure`` carries its words.
///
/// The key hierarchy is that of docs/FORMAT.md §4. The code for keybags handles only bytes and
/// keys; its callers store keybags and secrets.
enum KeybagFault: Hashable {
    case malformed
    case newer
    case tampered
    case wrongDeviceSecret
    /// The passcode is not the one that this keybag was made with. A changed salt, cost or
    /// commitment looks the same.
    case wrongPasscode
    case wrongRecoveryKey
    case noRecoveryKey
    case mistyped(CheckedText.Mistake)
    case outOfMemory
    /// The keybag needs a protector of another kind: its keychain has been locked, or its passcode
    /// was set or removed.
    case needsProtector

    /// What is wrong, in words without secrets.
    var words: String {
        switch self {
        case .malformed: "the keybag has the wrong form"
        case .newer: KeychainFailure.Code.newerFormat.explanation
        case .tampered: "the keybag or the settings beside it were changed"
        case .wrongDeviceSecret:
            "the device key is not the one that this keychain was made with"
        case .wrongPasscode: "wrong passcode"
        case .wrongRecoveryKey: "wrong recovery key"
        case .noRecoveryKey: "there is no recovery key"
        case .mistyped(let mistake): mistake.words
        case .outOfMemory: KeychainFailure.Code.outOfMemory.explanation
        case .needsProtector: KeychainFailure.Code.locked.explanation
        }
    }

    fileprivate var code: KeychainFailure.Code {
        switch self {
        case .malformed, .tampered: .keychainDamaged
        case .newer: .newerFormat
        case .wrongDeviceSecret: .keyUnavailable
        case .wrongPasscode, .wrongRecoveryKey, .noRecoveryKey, .mistyped:
            .authenticationFailed
        case .outOfMemory: .outOfMemory
        case .needsProtector: .locked
        }
    }

    fileprivate var hint: String? {
        switch self {
        case .malformed, .tampered: "restore the keychain from a copy"
        case .newer: "update this program"
        case .wrongDeviceSecret: "put this keychain's own device key back"
        case .needsProtector: "run `valet unlock`"
        case .wrongPasscode, .wrongRecoveryKey, .noRecoveryKey, .mistyped,
            .outOfMemory:
            nil
        }
    }
}

extension KeychainFailure {
    /// The operation of a failure for which none is given. Callers replace it by their own.
    package static let openingKeybag = "open the keybag"

    init(
        _ fault: KeybagFault, during operation: String = Self.openingKeybag, path: String? = nil
    ) {
        self.init(
            fault.code, during: operation, message: fault.words, path: path, hint: fault.hint)
    }

    /// The failure for a failed unwrap.
    ///
    /// - Parameter wrongKey: The fault if the given key is not the wrapping key: a changed keybag,
    ///   unless the user typed the key.
    init(_ error: SystemError, wrongKey: KeybagFault = .tampered) {
        let fault: KeybagFault =
            switch error.code {
            case .wrongKey: wrongKey
            case .outOfMemory: .outOfMemory
            case .malformed: .malformed
            case .unsupported: .newer
            default: .tampered
            }
        self.init(fault)
    }

    /// The failure for a device key whose id is not the one that the keybag names.
    package static func wrongDeviceKey(
        _ operation: String, path: String? = nil
    ) -> KeychainFailure {
        KeychainFailure(.wrongDeviceSecret, during: operation, path: path)
    }
}
