// SPDX-License-Identifier: Apache-2.0

// The condition of a keychain as a whole, as `valet status` reports it: its lock state, its
// protection level, and the source of its device secret.

/// How far a keychain can be used at one moment (spec/keys-and-states.md §5).
///
/// Applications know it as `ValetKeychain.LockState`; the command prints its raw values.
@nonexhaustive
public enum LockState: String, CaseIterable, Hashable, Sendable {
    /// There is no keychain yet: the first item that is stored makes it.
    case absent
    /// One of the keychain's two files is missing: nothing can be opened or made.
    case incomplete
    /// The device key cannot be read, or belongs to another keychain. Only the right device key or
    /// the recovery key opens more than is open already.
    case keyUnavailable
    /// There is no passcode: everything is always open.
    case noPasscode
    /// The keychain was not unlocked since the machine started: no key is open.
    case beforeFirstUnlock
    /// Everything is open.
    case unlocked
    /// Items of the accessibilities `afterFirstUnlock…` are open, others are not.
    case locked
}

/// What a thief of the disk has to overcome. docs/THREAT-MODEL.md defines the levels.
///
/// Applications know it as `ValetKeychain.ProtectionLevel`; the command prints its raw values. A
/// greater level is harder to overcome.
@nonexhaustive
public enum ProtectionLevel: String, CaseIterable, Hashable, Sendable {
    /// Nothing: the device key is on the same disk. Other users are kept out.
    case file
    /// Whatever guards the device key, which another program or the user supplies.
    case credential
    /// Guessing the passcode, at the cost of Argon2id for each guess.
    case passcode
    /// The TPM of this machine.
    case tpm
    /// The TPM of this machine, which limits how fast the passcode can be guessed.
    case tpmAndPasscode = "tpm+passcode"
}

extension ProtectionLevel: Comparable {
    /// The position of the level, from 1, in the order of what a thief has to overcome.
    package var rank: Int {
        switch self {
        case .file: 1
        case .credential: 2
        case .passcode: 3
        case .tpm: 4
        case .tpmAndPasscode: 5
        }
    }

    /// Whether `left` is easier to overcome than `right`.
    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
}

/// Where a keychain's device secret comes from. The raw values are stored in keybags:
/// docs/FORMAT.md §4.1.
package enum DeviceKeySource: UInt8, CaseIterable, Hashable, Sendable {
    /// `device.key`, which this library made.
    case ownFile = 1
    /// The systemd credential `valet.device-key`.
    case credential = 3
    /// The file that `$VALET_DEVICE_KEY_FILE` names.
    case keyFile = 4
    /// The machine's TPM.
    case tpm = 2
}
