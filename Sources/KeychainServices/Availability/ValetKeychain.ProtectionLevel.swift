// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainStore

extension ValetKeychain {
    /// What a thief of the disk has to overcome: docs/THREAT-MODEL.md says what each level gives.
    ///
    /// Levels compare: a greater one takes more to get in.
    @nonexhaustive
    public enum ProtectionLevel: String, CaseIterable, Hashable, Sendable, Comparable {
        /// Nothing: the device key lies on the same disk. Other users are kept out.
        case file
        /// Whatever guards the device key, which is given from outside.
        case credential
        /// Guessing the passcode, at the cost of Argon2id for each guess.
        case passcode
        /// The TPM of this machine.
        case tpm
        /// The TPM of this machine, which lets nobody guess the passcode quickly.
        case tpmAndPasscode = "tpm+passcode"

        /// Whether `left` takes less to overcome than `right`.
        public static func < (left: Self, right: Self) -> Bool { left.known < right.known }

        init(_ level: KeychainStatus.ProtectionLevel) {
            self =
                switch level {
                case .file: .file
                case .credential: .credential
                case .passcode: .passcode
                case .tpm: .tpm
                case .tpmAndPasscode: .tpmAndPasscode
                }
        }

        /// The same level, as the store calls it.
        var known: KeychainStatus.ProtectionLevel {
            switch self {
            case .file: .file
            case .credential: .credential
            case .passcode: .passcode
            case .tpm: .tpm
            case .tpmAndPasscode: .tpmAndPasscode
            }
        }
    }
}
