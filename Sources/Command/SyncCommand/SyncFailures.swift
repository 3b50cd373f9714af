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
        case let failure as KeychainFailure: self.init(failure)
        case let error as StoreError: self.init(error)
        case let trouble as SyncTrouble: self.init(trouble)
        case let trouble as InvitationTrouble: self.init(trouble)
        default: self.init(.failure, "sync failed: \(Escaping.printable("\(error)"))")
        }
    }

    init(_ error: StoreError) {
        self.init(
            ExitCode(error.code), Escaping.printable(error.description),
            hint: error.hint.map(Escaping.printable))
    }

    /// The error of a step that cannot be done now.
    init(_ trouble: SyncTrouble) {
        switch trouble {
        case .noKeys:
            self.init(
                .failure, "no device has given the keys of the circle to this one",
                hint: "unlock another device and let it sync, then try again")
        case .rosterInMotion:
            self.init(.locked, "other devices keep changing the circle", hint: "try again")
        case .removed:
            self.init(
                .denied, "this device is not a member of its circle",
                hint: "'valet sync leave --here' forgets the circle; then it can join again")
        case .circleIsFull:
            self.init(
                .failure, "the circle has changed its devices too often to do so again",
                hint: "'valet sync move' founds a new circle with the same items")
        case .undecided:
            self.init(
                .damaged, "two devices remove each other, and one of them is not yours",
                hint: "'valet sync status' names both; 'valet sync distrust' removes one")
        case .interrupted:
            self.init(.locked, "the work was broken off", hint: "try again")
        case .unsent:
            self.init(
                .locked, "some changes are not in the store yet",
                hint: "'valet sync status' says why; 'valet sync leave --here' leaves anyway")
        }
    }

    /// The error of an invitation that came to nothing.
    init(_ trouble: InvitationTrouble) {
        let hint = "invite again, and show the invitation to nobody else"
        switch trouble {
        case .seenByOthers:
            self.init(.denied, "two devices have used the invitation: nobody joined", hint: hint)
        case .broken:
            self.init(.denied, "the other side broke the rules: nobody joined", hint: hint)
        case .withdrawn:
            self.init(
                .denied, "the other device has ended the invitation",
                hint: "'valet sync invite' there makes another one")
        }
    }
}

extension ExitCode {
    /// The exit code for an error of a store.
    fileprivate init(_ code: StoreError.Code) {
        self =
            switch code {
            case .unavailable, .timedOut, .outcomeUnknown: .locked
            case .denied: .denied
            case .full, .malformed: .failure
            case .badAddress: .usage
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
