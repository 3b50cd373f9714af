// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetSealing

/// The changes of a caller's items inside a write transaction, by the rules of spec/secitem.md.
/// The files `Add`, `Update`, `Delete` and `Transfer` each make one kind of change. This file has
/// the checks that they share.
struct ItemTransaction {
    /// The rows, and the call's proofs for items that require the user's presence.
    let rows: RowTransaction
    /// The application whose groups the call may use.
    let caller: Caller

    /// - Parameter person: The call's proofs; nil for a call that never asks the user.
    init(_ rows: RowTransaction, _ caller: Caller, _ person: PresenceAccess? = nil) {
        var rows = rows
        if let person { rows.access = person }
        self.rows = rows
        self.caller = caller
    }

    var state: RowKeys { rows.state }
    var operation: String { rows.operation }

    /// Refuses an unavailable class, before a match or a duplicate is reported (spec/secitem.md
    /// §3.10).
    ///
    /// - Throws: ``KeychainFailure``: `locked`, `passcodeNotSet`.
    func check(_ protectionClass: ProtectionClass) throws(KeychainFailure) {
        _ = try translating(state.cipher(protectionClass), during: operation)
    }

    /// - Throws: ``KeychainFailure/Code/valueTooLarge``.
    func check(byteCount: Int?) throws(KeychainFailure) {
        guard (byteCount ?? 0) <= ItemStore.maximalValueByteCount else {
            throw KeychainFailure(
                .valueTooLarge, during: operation,
                hint: "keep large data in a file of its own and its key here")
        }
    }

    /// Checks that an item may get an access control (spec/secitem.md §10.3, §10.6).
    ///
    /// - Throws: ``KeychainFailure``: `invalidRequest` for a synchronizable item,
    ///   `passcodeNotSet`, `authenticationFailed` if the access control can never be met.
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
                message: "this access control can never be met")
        }
        guard let pair = accessControl.presencePair else { return }
        guard state.epoch.recipients[pair] != nil else {
            throw KeychainFailure(
                .passcodeNotSet, during: operation,
                message: "the keychain needs a passcode before items can require the user",
                hint: "set one with `valet passcode set`")
        }
        guard !constraints.contains(.biometryCurrentSet) || accessControl.enrolment != nil else {
            throw .noFinger(
                during: operation,
                "the item requires the fingers that are enrolled now, and there are none")
        }
    }

    /// The proof that is required before an item is reported as a duplicate of `existing`; nil if
    /// none is required: spec/secitem.md §10.4.
    func demandedProof(for existing: FoundRow?) throws(KeychainFailure) -> PresenceDemand? {
        guard case .row(let row)? = existing, row.header.flags.presence != nil,
            !row.header.flags.contains(.tombstone)
        else { return nil }
        let opened: OpenedRow?
        do {
            opened = try rows.openIfSound(row)
        } catch {
            // A locked item is a duplicate, whatever it needs.
            return nil
        }
        guard let opened, case .needsPerson(let demand) = try rows.judge(opened) else {
            return nil
        }
        return demand
    }
}
