// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem
internal import ValetUserPresence

/// The passcode from `$VALET_PASSCODE_FD`, for a process that unlocks the keychain only for itself.
/// The first call that finds the keychain locked reads the passcode; ``KeychainSession`` then
/// repeats the call.
///
/// The passcode unlocks once, and a wrong one is not tried again. After any other failure, such as
/// a busy keychain, it stays in guarded memory for the next call.
final class GivenPasscode: Sendable {
    private enum Progress {
        case unread
        case read(Passcode)
        /// Why the passcode cannot unlock the keychain; nil if it has done so.
        case over(KeychainFailure?)
    }

    private struct State: ~Copyable {
        var progress: Progress
        /// The beginning of a passcode that did not arrive in time.
        var input: SecretInput?
    }

    /// A child of `fork` begins before the first unlock. It cannot read the descriptor again.
    static let current = ProcessLocal<GivenPasscode> { inherited in
        guard let inherited else { return GivenPasscode(.unread) }
        let progress = inherited.state.withLockIfAvailable { state in
            state.input == nil ? state.progress : .over(nil)
        }
        return GivenPasscode(progress ?? .over(nil))
    }

    /// Whether the variable is set, even if its descriptor has been read.
    static var isThere: Bool { PasscodeDescriptor.variableText() != nil }

    private let state: Lock<State>

    private init(_ progress: Progress) {
        state = Lock(State(progress: progress, input: nil))
    }

    /// Unlocks the keychain of `store`, if the lock state is this process's own. Concurrent callers
    /// wait for the one that unlocks: up to five seconds for the descriptor, and then for the
    /// unlock.
    ///
    /// - Returns: Whether repeating the call that met a locked keychain can succeed.
    /// - Throws: ``KeychainFailure`` if this try fails.
    func unlock(_ store: ItemStore) throws(KeychainFailure) -> Bool {
        let found = try store.keychain.availability()
        guard found.isOfProcess else { return false }
        return try state.withLock { (state) throws(KeychainFailure) in
            if case .over = state.progress {
                // Another thread may have unlocked the keychain since the caller's call.
                guard found.openKeys != .all else { return false }
                return try store.keychain.availability().openKeys == .all
            }
            do throws(KeychainFailure) {
                try store.keychain.unlock(Self.passcode(in: &state, for: store))
            } catch {
                if error.code == .authenticationFailed { state.progress = .over(error) }
                throw error
            }
            state.progress = .over(nil)
            return true
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
        guard case .over(let cause?) = state.withLock({ $0.progress }) else { throw failure }
        throw KeychainFailure(
            failure, hint: "$VALET_PASSCODE_FD did not unlock it: \(cause.message)")
    }

    /// The passcode, read from the descriptor if it was not read before.
    private static func passcode(
        in state: inout State, for store: ItemStore
    ) throws(KeychainFailure) -> Passcode {
        if case .read(let passcode) = state.progress { return passcode }
        // Only the first call waits for the descriptor. Later ones look what has arrived.
        let patience: Duration = state.input == nil ? .seconds(5) : .zero
        var input = state.input.take() ?? PasscodeDescriptor.emptyInput
        let text: SecretBytes
        do {
            text = try PasscodeDescriptor.readGiven(
                within: store.end.map { min($0.remaining, patience) } ?? patience,
                continuing: &input)
        } catch {
            let failure = KeychainFailure(asking: error, during: "unlock the keychain")
            if error.code == .timedOut {
                state.input = consume input
            } else {
                state.progress = .over(failure)
            }
            throw failure
        }
        let passcode = try Passcode(text)
        state.progress = .read(passcode)
        return passcode
    }
}
