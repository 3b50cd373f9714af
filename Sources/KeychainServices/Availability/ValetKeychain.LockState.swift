// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainStore

extension ValetKeychain {
    /// How far the keychain can be used at one moment.
    @nonexhaustive
    public enum LockState: String, CaseIterable, Hashable, Sendable {
        /// There is no keychain yet: the first item that is stored makes it.
        case absent
        /// There is no passcode: everything is always open.
        case noPasscode
        /// Locked: items of the accessibilities `afterFirstUnlock…` are open, others are not.
        case locked
        /// Nobody has unlocked the keychain since the machine started: nothing is open.
        case beforeFirstUnlock
        /// Everything is open.
        case unlocked
        /// The device key cannot be read, or is another keychain's: it takes the right one, or the
        /// recovery key, before anything more is opened.
        case keyUnavailable
        /// One of the keychain's two files is missing: nothing is opened, and nothing made.
        case incomplete

        init(_ state: KeychainStatus.State) {
            self =
                switch state {
                case .absent: .absent
                case .incomplete: .incomplete
                case .keyUnavailable: .keyUnavailable
                case .noPasscode: .noPasscode
                case .beforeFirstUnlock: .beforeFirstUnlock
                case .unlocked: .unlocked
                case .locked: .locked
                }
        }
    }
}
