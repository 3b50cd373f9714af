// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// Items that need a person, in a write transaction.
extension WriteAccess {
    /// Checks that an item may get an access control (spec/secitem.md §10.3, §10.6).
    ///
    /// - Throws: ``KeychainFailure``: `invalidRequest` for a synchronizable item,
    ///   `passcodeNotSet`, `authenticationFailed` if nobody could ever meet it.
    func check(
        _ accessControl: AccessControl, isSynchronizable: Bool
    ) throws(KeychainFailure) {
        guard !isSynchronizable else {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "an item with an access control cannot be synchronizable")
        }
        let constraints = accessControl.constraints
        guard !constraints.contains(.privateKeyUsage), !accessControl.demand.isImpossible else {
            throw KeychainFailure(
                .authenticationFailed, during: operation,
                message: "nobody could ever meet this access control")
        }
        guard let pair = accessControl.presencePair else { return }
        guard state.newest.recipients[pair] != nil else {
            throw KeychainFailure(
                .passcodeNotSet, during: operation,
                message: "items that need a person need a passcode",
                hint: "set one with `valet passcode set`")
        }
        guard !constraints.contains(.biometryCurrentSet) || accessControl.enrolment != nil else {
            throw KeychainFailure(
                .authenticationFailed, during: operation,
                message: "the item is to be bound to the fingers that are enrolled, "
                    + "and no reader here has any",
                hint: "enroll one with `fprintd-enroll`, in a program that is built with the "
                    + "trait Fingerprint, or use an access control that takes the passcode")
        }
    }

    /// What is to become of an item, by its access control.
    func verdict(on opened: OpenedRow) throws(RowFailure) -> Verdict {
        guard let pair = opened.row.header.flags.presence,
            let accessControl = try opened.content.accessControl
        else { return .open }
        let recipient = try state.cipher(opening: opened.row.header).recipients[pair]
        return access.verdict(on: accessControl, sealedTo: pair, of: recipient)
    }

    /// Before an item is called a duplicate of another: spec/secitem.md §10.4.
    ///
    /// - Throws: ``AuthenticationDemand``; nothing has been written then.
    func demandProof(for existing: FoundRow?) throws {
        guard case .row(let row)? = existing, row.header.flags.presence != nil,
            !row.header.flags.contains(.tombstone)
        else { return }
        let opened: OpenedRow?
        do throws(RowFailure) {
            opened = try openIfSound(row)
        } catch {
            // One that is locked is a duplicate, whatever it needs.
            return
        }
        guard let opened, try verdict(on: opened) == .demanded,
            let accessControl = try opened.content.accessControl
        else { return }
        throw AuthenticationDemand(accessControl: accessControl)
    }
}
