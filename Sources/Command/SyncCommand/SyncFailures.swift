// SPDX-License-Identifier: Apache-2.0

// How failures of sync become errors of the command: exit codes, messages and hints.

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetSync
internal import ValetSyncAgent
internal import ValetSyncStores

extension CLIError {
    /// The error for whatever a step of sync has thrown.
    init(anyOf error: any Error) {
        switch error {
        case let error as CLIError: self = error
        case let failure as KeychainFailure: self.init(ofSync: failure)
        default: self.init(.failure, "sync failed: \(Escaping.printable("\(error)"))")
        }
    }

    /// The error for a failure of the store, the circle or the keychain.
    init(ofSync failure: KeychainFailure) {
        guard let code = ExitCode(ofSync: failure.code) else {
            self.init(failure)
            return
        }
        let isOfStore = KeychainFailure.Code.ofStores.contains(failure.code)
        self.init(
            code, Escaping.printable(isOfStore ? failure.description : failure.message),
            hint: failure.hint.map(Escaping.printable))
    }
}

extension ExitCode {
    /// The exit code for a failure of the store or the circle; nil for one of the keychain.
    fileprivate init?(ofSync code: KeychainFailure.Code) {
        switch code {
        case .storeUnavailable, .storeTimedOut, .storeOutcomeUnknown, .rosterInMotion,
            .roundInterrupted, .unsentChanges:
            self = .locked
        case .storeDenied, .notAMember, .invitationSeen, .invitationBroken, .invitationWithdrawn:
            self = .denied
        case .storeFull, .storeMalformed, .noCircleKeys, .circleIsFull: self = .failure
        case .badStoreAddress: self = .usage
        case .undecidedRoster: self = .damaged
        default: return nil
        }
    }

    /// The exit code of `valet sync once`: docs/SYNC.md §8.
    init(_ state: SyncState) {
        self =
            switch state {
            case .off: .notFound
            case .joining, .current, .working, .waiting, .locked, .newer: .success
            case .paused, .full: .failure
            case .closed, .unavailable: .locked
            case .denied, .removed: .denied
            case .alarm: .damaged
            }
    }
}
