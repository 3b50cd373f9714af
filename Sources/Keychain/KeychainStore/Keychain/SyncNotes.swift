// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSystem

/// The state of sync, which its agent has noted in the keychain. `ValetKeychain.syncState` gives it
/// to applications, which do not link sync.
extension Keychain {
    /// The notes of the agent that contain the state: docs/FORMAT.md §12.
    package enum SyncNote: String, CaseIterable {
        /// Which circle the keychain is in.
        case circle
        /// A person has paused sync.
        case paused
        /// What the last round has found. The first byte is the number of a ``SyncState``.
        case report
    }

    /// The state that the last round of sync has found: `off` in no circle, `closed` before the
    /// first unlock, `waiting` before the first round, and instead of `current` if something has
    /// changed here since.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut`, `damaged`, any failure of the keychain itself.
    package func syncState() throws(KeychainFailure) -> SyncState {
        do {
            return try store.readRows("look at sync") { (snapshot) throws(KeychainFailure) in
                try translating(snapshot.syncState(), during: "look at sync")
            } ?? .off
        } catch {
            guard error.code == .locked else { throw error }
            return try hasSyncSecrets() ? .closed : .off
        }
    }
}

extension RowSnapshot {
    fileprivate func syncState() throws(SystemError) -> SyncState {
        guard try bytes(of: .circle) != nil else { return .off }
        if try bytes(of: .paused) != nil { return .paused }
        let state = try bytes(of: .report)?.first.flatMap(SyncState.init) ?? .waiting
        guard state == .current else { return state }
        return try store.sync.uncollectedCount() > 0 ? .waiting : state
    }

    private func bytes(of note: Keychain.SyncNote) throws(SystemError) -> [UInt8]? {
        try store.sync.entry(SyncTables.noteKind, Array(note.rawValue.utf8)).map(state.openFacts)
    }
}
