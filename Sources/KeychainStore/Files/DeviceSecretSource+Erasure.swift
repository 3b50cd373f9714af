// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetTPM

/// The half of a device secret that a TPM's owner can have destroyed: docs/FORMAT.md §4.9.
extension DeviceSecretSource {
    private static let reading = "read the TPM's erasure secret"
    private static let making = "have the TPM keep an erasure secret"
    private static let destroying = "destroy the TPM's erasure secret"

    /// The device secret of `keybag`, of which the TPM gave out `sealed`.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable` if the erasure secret is gone;
    ///   `keychainDamaged`, `timedOut`, `inputOutput`.
    func deviceSecret(
        of keybag: LockedKeybag, from sealed: borrowing TPMDeviceSecret, until deadline: Deadline
    ) throws(KeychainFailure) -> DeviceSecret {
        let record = try translating(Self.reading) { try keybag.erasure }
        guard let record else { return try translating(Self.reading) { try sealed.deviceSecret() } }
        let kept = try keptErasure(record, of: keybag, beside: sealed, until: deadline)
        return sealed.deviceSecret(mixing: kept.secret, of: keybag.keychainID)
    }

    /// What the TPM keeps for `keybag`, and what it is read with.
    ///
    /// - Throws: As ``deviceSecret(of:from:until:)``.
    func keptErasure(
        _ record: ErasureRecord, of keybag: LockedKeybag, beside sealed: borrowing TPMDeviceSecret,
        until deadline: Deadline
    ) throws(KeychainFailure) -> KeptErasure {
        let authorization = try translating(Self.reading) {
            try record.authorization(of: keybag.keychainID, beside: sealed)
        }
        let value = authorization.withBytes { SecretBytes(copying: $0) }
        let index = try Self.index(of: record)
        let bytes: SecretBytes
        do throws(KeychainFailure) {
            bytes = try asking(Self.reading) { () throws(TPMError) in
                try location.tpm.erasureSecret(
                    at: index, beside: SealedObject(parsing: keybag.tpmDeviceObject ?? []),
                    authorization: value, until: deadline)
            }
        } catch {
            guard error.code == .authenticationFailed else { throw error }
            // Nobody typed that value: what is there now was never this keychain's.
            throw KeychainFailure(
                .keyUnavailable, during: Self.reading, message: "the TPM has another one there",
                path: location.tpm.place.path, hint: KeychainFailure.recoveryHint)
        }
        return KeptErasure(
            secret: try Self.key(bytes, Self.reading), authorization: authorization)
    }

    /// Has the TPM keep a secret at an index.
    ///
    /// - Parameters:
    ///   - place: An index that may be taken.
    ///   - object: What the same TPM has just sealed.
    /// - Returns: Whether it was done: not if the index is taken.
    /// - Throws: ``KeychainFailure``: `authenticationFailed` without the owner's authorization,
    ///   `inputOutput` if there is no room, `keyUnavailable`, `timedOut`.
    func keep(
        _ new: borrowing KeptErasure, at place: ErasurePlace, beside object: SealedObject,
        _ owner: OwnerAuthorization?, until deadline: Deadline
    ) throws(KeychainFailure) -> Bool {
        let kept = new.copied
        do throws(TPMError) {
            try location.tpm.keepErasureSecret(
                kept, at: place, beside: object,
                owner: (owner ?? .empty).value, until: deadline)
            return true
        } catch {
            if error.code == .indexTaken { return false }
            throw failure(error, owner, Self.making)
        }
    }

    /// Makes sure that what the owner gave, or nothing, is the owner's authorization.
    ///
    /// - Throws: ``KeychainFailure``: `authenticationFailed` if it is not; `keyUnavailable`,
    ///   `timedOut`, `inputOutput`.
    func check(
        _ owner: OwnerAuthorization?, until deadline: Deadline
    ) throws(KeychainFailure) {
        do throws(TPMError) {
            try location.tpm.checkOwner((owner ?? .empty).value, until: deadline)
        } catch {
            throw failure(error, owner, Self.destroying)
        }
    }

    /// Has the TPM destroy a secret.
    ///
    /// - Returns: Whether it is gone now; not if the TPM cannot be asked, or the owner's
    ///   authorization is another.
    func hasDestroyed(
        _ place: ErasurePlace, _ owner: OwnerAuthorization?, until deadline: Deadline
    ) -> Bool {
        do throws(TPMError) {
            try location.tpm.destroyErasureSecret(
                at: place, owner: (owner ?? .empty).value, until: deadline)
            return true
        } catch {
            return error.code == .noErasureSecret
        }
    }

    /// Whether the TPM has the secret that `record` names.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable`, `timedOut`, `inputOutput`.
    func hasErasureSecret(
        _ record: ErasureRecord, of keychainID: KeychainID, until deadline: Deadline
    ) throws(KeychainFailure) -> Bool {
        let index = try Self.index(of: record)
        return try asking(Self.reading) { () throws(TPMError) in
            try location.tpm.hasErasureSecret(
                at: ErasurePlace(index, mark: ErasureRecord.mark(of: keychainID)), until: deadline)
        }
    }

    /// Whether the TPM's owner has an authorization value.
    ///
    /// - Throws: As ``hasErasureSecret(_:of:until:)``.
    func ownerHasAuthorization(until deadline: Deadline) throws(KeychainFailure) -> Bool {
        try asking(Self.making) { () throws(TPMError) in
            try location.tpm.status(until: deadline).hasOwnerAuthorization
        }
    }

    /// - Throws: Nothing for a record of a keybag that was parsed.
    private static func index(of record: ErasureRecord) throws(KeychainFailure) -> NVIndex {
        guard let index = NVIndex(rawValue: record.index) else {
            throw KeychainFailure(.keychainDamaged, during: reading)
        }
        return index
    }

    private func failure(
        _ error: TPMError, _ owner: OwnerAuthorization?, _ operation: String
    ) -> KeychainFailure {
        let path = location.tpm.place.path
        guard error.code == .ownerAuthorizationNeeded else {
            return KeychainFailure(error, during: operation, path: path)
        }
        return KeychainFailure(
            .authenticationFailed, during: operation,
            message: owner == nil
                ? "it takes the authorization of the TPM's owner"
                : "the authorization of the TPM's owner is another",
            path: path, hint: owner == nil ? "give it with --owner-authorization-fd" : nil)
    }
}

/// An erasure secret, and what it is read with.
struct KeptErasure: ~Copyable {
    let secret: ErasureSecret
    let authorization: ErasureAuthorization

    static func random() -> KeptErasure {
        KeptErasure(secret: .random(), authorization: .random())
    }

    /// As the TPM is told.
    fileprivate var copied: KeptSecret {
        KeptSecret(
            secret.withBytes { SecretBytes(copying: $0) },
            readWith: authorization.withBytes { SecretBytes(copying: $0) })
    }
}
