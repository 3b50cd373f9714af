// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem
internal import ValetUserPresence

/// The passcode from `$VALET_PASSCODE_FD`, for a process that unlocks the keychain only for itself.
/// The first call that finds the keychain locked reads the passcode, once; ``KeychainSession`` then
/// repeats the call.
final class GivenPasscode: Sendable {
    private enum Progress {
        case unread
        case read(KeychainFailure?)
    }

    /// A child of `fork` begins before the first unlock, and cannot read the descriptor again.
    static let current = ProcessLocal<GivenPasscode> { inherited in
        GivenPasscode(inherited.map { $0.progress.withLockIfAvailable { $0 } ?? .read(nil) })
    }

    /// Whether the variable is set, even if its descriptor has been read.
    static var isThere: Bool { PasscodeDescriptor.variableText() != nil }

    private let progress: Lock<Progress>

    private init(_ progress: Progress?) {
        self.progress = Lock(progress ?? .unread)
    }

    /// Unlocks the keychain of `store`, if the lock state is this process's own. Concurrent callers
    /// wait for the one that unlocks: up to five seconds for the descriptor, and then for the
    /// unlock.
    ///
    /// - Returns: Whether repeating the call that met a locked keychain can succeed.
    /// - Throws: ``KeychainFailure`` once, if the passcode cannot be read or is wrong. There is no
    ///   second try.
    func unlock(_ store: ItemStore) throws(KeychainFailure) -> Bool {
        let found = try store.keychain.availability()
        guard found.isOfProcess else { return false }
        return try progress.withLock { (progress) throws(KeychainFailure) in
            guard case .unread = progress else {
                // Another thread may have unlocked the keychain since the caller's call.
                guard found.openKeys != .all else { return false }
                return try store.keychain.availability().openKeys == .all
            }
            do throws(KeychainFailure) {
                try store.keychain.unlock(Passcode(Self.read(for: store)))
                progress = .read(nil)
                return true
            } catch {
                progress = .read(error)
                throw error
            }
        }
    }

    /// Repeats `body`, which found the keychain of `store` locked, if the passcode unlocks that
    /// keychain.
    @inline(never)
    func repeating<R>(
        _ body: () throws(KeychainFailure) -> R, after failure: KeychainFailure,
        in store: ItemStore
    ) throws(KeychainFailure) -> R {
        if try unlock(store) { return try body() }
        guard case .read(let cause?) = progress.withLock({ $0 }) else { throw failure }
        throw KeychainFailure(
            failure, hint: "$VALET_PASSCODE_FD did not unlock it: \(cause.message)")
    }

    private static func read(for store: ItemStore) throws(KeychainFailure) -> SecretBytes {
        let patience = Duration.seconds(5)
        do {
            return try PasscodeDescriptor.readGiven(
                within: store.end.map { min($0.remaining, patience) } ?? patience)
        } catch {
            throw KeychainFailure(asking: error, during: "unlock the keychain")
        }
    }
}
