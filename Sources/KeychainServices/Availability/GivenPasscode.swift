// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetUserPresence

/// The passcode that `$VALET_PASSCODE_FD` brings to a process which unlocks for itself alone: read
/// once, at the first call that meets a locked keychain.
final class GivenPasscode: Sendable {
    private enum Progress {
        case unread
        case read(KeychainFailure?)
    }

    /// A child of `fork` begins before the first unlock; what its parent has read is gone.
    static let current = ProcessLocal<GivenPasscode> { inherited in
        GivenPasscode(inherited.map { $0.progress.withLockIfAvailable { $0 } ?? .read(nil) })
    }

    /// Whether one was given, read or not.
    static var isThere: Bool { PasscodeDescriptor.variableText() != nil }

    private let progress: Mutex<Progress>

    private init(_ progress: Progress?) {
        self.progress = Mutex(progress ?? .unread)
    }

    /// Unlocks the keychain of `store`, if the lock state is this process's own. Threads that come
    /// meanwhile wait for the one that does it: the descriptor's five seconds, and the unlock's.
    ///
    /// - Returns: Whether it is worth while to repeat what met a locked keychain.
    /// - Throws: ``KeychainFailure`` once, when the passcode cannot be read or is wrong: it is not
    ///   tried again.
    func unlock(_ store: ItemStore) throws(KeychainFailure) -> Bool {
        let found = try store.availability()
        guard found.isOfProcess else { return false }
        return try progress.withLock { (progress) throws(KeychainFailure) in
            guard case .unread = progress else {
                // Another thread may have done it since the caller's call.
                guard found.openKeys != .all else { return false }
                return try store.availability().openKeys == .all
            }
            do throws(KeychainFailure) {
                try store.unlock(KeychainPasscode(Self.read()))
                progress = .read(nil)
                return true
            } catch {
                progress = .read(error)
                throw error
            }
        }
    }

    /// Why a keychain is locked although a passcode was given; nil if it was not, or was right.
    var failure: KeychainFailure? {
        progress.withLock { progress in
            if case .read(let failure) = progress { failure } else { nil }
        }
    }

    private static func read() throws(KeychainFailure) -> SecretBytes {
        do throws(UserPresenceError) {
            return try PasscodeDescriptor.readGiven(within: .seconds(5))
        } catch {
            throw KeychainFailure(error, during: "unlock the keychain")
        }
    }
}
