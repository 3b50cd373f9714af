// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetTPM

/// Erasure secrets come and go with epochs: docs/FORMAT.md §4.9.
extension Engine {
    /// What the name of a file begins with that says where the TPM may have one.
    private static let notePrefix = "erasure."
    /// How many numbers are tried: another is free but in a TPM with thousands of them.
    private static let attempts = 8
    private static let operation = "have the TPM keep an erasure secret"
    private static let patience = Duration.seconds(5)

    /// Has the TPM seal a new device secret, and keep what the epoch after `facts` wants.
    ///
    /// - Throws: ``KeychainFailure``: `authenticationFailed` if the owner's authorization is needed
    ///   and is another; `inputOutput` if the TPM has no room; `keyUnavailable`, `timedOut`.
    func newHeldSecret(
        _ facts: KeychainFacts, _ next: NextEpoch
    ) throws(KeychainFailure) -> TPMHeldSecret {
        let bound = try source.registers(of: facts.newest)
        let sealed = TPMDeviceSecret.random()
        let object = try source.seal(
            sealed, boundTo: next.registers ?? bound, until: Deadline(after: next.patience))
        let last = try translating(Self.operation) { try facts.newest.erasure }
        switch next.erasure {
        case .required(let owner):
            return try newErasure(facts, sealed, object, owner, next.patience)
        case .asBefore(let owner):
            guard let last else { break }
            if let owner { return try newErasure(facts, sealed, object, owner, next.patience) }
            let isFree = try !source.ownerHasAuthorization(until: Deadline(after: next.patience))
            guard isFree else { return try sameErasure(last, facts, sealed, object, next.patience) }
            do throws(KeychainFailure) {
                return try newErasure(facts, sealed, object, nil, next.patience)
            } catch {
                // Nobody asked for a new one: it is no reason not to have new keys.
                return try sameErasure(last, facts, sealed, object, next.patience)
            }
        case .dropped, .abandoned: break
        }
        let secret = try translating(Self.operation) { try sealed.deviceSecret() }
        return TPMHeldSecret(secret: secret, object: object, erasure: nil)
    }

    private func newErasure(
        _ facts: KeychainFacts, _ sealed: borrowing TPMDeviceSecret, _ object: SealedObject,
        _ owner: OwnerAuthorization?, _ patience: Duration
    ) throws(KeychainFailure) -> TPMHeldSecret {
        let keychainID = facts.settings.keychainID
        let new = KeptErasure.random()
        let deadline = Deadline(after: patience)
        let known = try translating(Self.operation) {
            try notedIndices().union(facts.erasureIndices)
        }
        for _ in 0..<Self.attempts {
            let index = NVIndex.random()
            guard !known.contains(index),
                try keep(new, at: index, of: keychainID, beside: object, (owner, deadline))
            else { continue }
            let record = ErasureRecord(
                index.rawValue, madeFor: Epoch(facts.newest.epoch.rawValue + 1), of: keychainID,
                beside: sealed, authorization: new.authorization)
            return TPMHeldSecret(
                secret: sealed.deviceSecret(mixing: new.secret, of: keychainID), object: object,
                erasure: record)
        }
        throw KeychainFailure(
            .inputOutput, during: Self.operation, message: "the TPM has no free index",
            path: location.tpm.place.path)
    }

    /// - Returns: Whether it was done: not if the index is taken.
    private func keep(
        _ new: borrowing KeptErasure, at index: NVIndex, of keychainID: KeychainID,
        beside object: SealedObject, _ terms: (owner: OwnerAuthorization?, deadline: Deadline)
    ) throws(KeychainFailure) -> Bool {
        // First: it is what leads to a secret that no keybag came to name.
        try translating(Self.operation) { try note(index) }
        let place = ErasurePlace(index, mark: ErasureRecord.mark(of: keychainID))
        do throws(KeychainFailure) {
            let isKept = try source.keep(
                new, at: place, beside: object, terms.owner, until: terms.deadline)
            if !isKept { forget(index) }
            return isKept
        } catch {
            // Where nothing was made there is nothing to lead to.
            if source.hasDestroyed(place, terms.owner, until: terms.deadline) { forget(index) }
            throw error
        }
    }

    /// The erasure secret that there is, beside what the TPM seals for the next epoch.
    private func sameErasure(
        _ record: ErasureRecord, _ facts: KeychainFacts, _ sealed: borrowing TPMDeviceSecret,
        _ object: SealedObject, _ patience: Duration
    ) throws(KeychainFailure) -> TPMHeldSecret {
        let (deadline, keychainID) = (Deadline(after: patience), facts.settings.keychainID)
        let last = try source.sealedSecret(of: facts.newest, until: deadline)
        let kept = try source.keptErasure(record, of: facts.newest, beside: last, until: deadline)
        return TPMHeldSecret(
            secret: sealed.deviceSecret(mixing: kept.secret, of: keychainID), object: object,
            erasure: ErasureRecord(
                record.index, madeFor: record.epoch, of: keychainID, beside: sealed,
                authorization: kept.authorization))
    }

    /// Makes sure, before anything is changed, that the erasure secret can be destroyed if it is to
    /// be.
    ///
    /// - Throws: ``KeychainFailure``: `authenticationFailed` without the owner's authorization;
    ///   `keyUnavailable`, `timedOut`, `inputOutput`.
    func checkErasure(_ facts: KeychainFacts, _ next: NextEpoch) throws(KeychainFailure) {
        guard case .dropped(let owner) = next.erasure else { return }
        guard try translating(Self.operation, { try facts.newest.erasure }) != nil else { return }
        try source.check(owner, until: Deadline(after: next.patience))
    }

    // Which there are.

    /// The indices that nobody will need once `new` are in the place of `facts`; all of them are
    /// noted. For a holder of the lock, in the transaction that does it: a writer that prepares
    /// another epoch at this moment will find that the keychain has changed.
    func dispensable(after facts: KeychainFacts, new: KeychainFacts) throws -> Set<NVIndex> {
        let noted = try notedIndices()
        let known = try noted.union(facts.erasureIndices)
        let dispensable = try known.subtracting(new.erasureIndices)
        for index in dispensable.subtracting(noted) { try note(index) }
        return dispensable
    }

    /// Indices that are noted and that no keybag names.
    func strayIndices(_ facts: KeychainFacts) throws -> Set<NVIndex> {
        try notedIndices().subtracting(facts.erasureIndices)
    }

    /// Takes back what was kept for a change that was not begun. Nobody else knows of it.
    func discard(_ change: borrowing EpochChange, after facts: KeychainFacts) {
        guard let record = change.erasure, let index = NVIndex(rawValue: record.index),
            (try? facts.erasureIndices)?.contains(index) == false
        else { return }
        destroyErasureSecrets(
            [index], of: facts.settings.keychainID, change.owner,
            until: Deadline(after: Self.patience))
    }

    /// Destroys secrets that nobody needs any more. What cannot be destroyed now stays noted, for
    /// the next epoch.
    func destroyErasureSecrets(
        _ indices: Set<NVIndex>, of keychainID: KeychainID, _ owner: OwnerAuthorization?,
        until deadline: Deadline
    ) {
        let mark = ErasureRecord.mark(of: keychainID)
        for index in indices
        where source.hasDestroyed(ErasurePlace(index, mark: mark), owner, until: deadline) {
            forget(index)
        }
    }

    /// The indices of erasure secrets that the TPM may have.
    private func notedIndices() throws(DatabaseError) -> Set<NVIndex> {
        Set(
            try directory.names().filter { $0.hasPrefix(Self.notePrefix) }.compactMap { name in
                let digits = name.dropFirst(Self.notePrefix.count)
                guard let index = UInt32(digits, radix: 16).flatMap(NVIndex.init(rawValue:)),
                    Self.note(of: index) == name
                else { return nil }
                return index
            })
    }

    private static func note(of index: NVIndex) -> String {
        // All indices begin with 0x01.
        "\(notePrefix)0\(String(index.rawValue, radix: 16))"
    }

    /// Where what says that the TPM may have a secret at that index is.
    func notePath(of index: NVIndex) -> String { directory.path(of: Self.note(of: index)) }

    private func note(_ index: NVIndex) throws(DatabaseError) {
        let name = Self.note(of: index)
        guard try directory.check(file: name) == nil else { return }
        let nothing: [UInt8] = []
        try directory.createFile(name, contents: nothing.span)
    }

    /// Somebody else may have been quicker; a note that stays means nothing.
    private func forget(_ index: NVIndex) { try? directory.remove(Self.note(of: index)) }
}

extension KeychainFacts {
    /// The indices that the keybags name.
    fileprivate var erasureIndices: Set<NVIndex> {
        get throws(KeybagError) {
            var indices: Set<NVIndex> = []
            for keybag in keybags {
                if let index = try keybag.erasure?.index, let known = NVIndex(rawValue: index) {
                    indices.insert(known)
                }
            }
            return indices
        }
    }
}
