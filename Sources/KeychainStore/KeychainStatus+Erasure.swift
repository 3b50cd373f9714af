// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetTPM

/// What there is to know of a keychain's erasure secret: docs/FORMAT.md §4.9.
package struct ErasureSummary: Hashable, Sendable {
    /// The number of the TPM's index.
    package let index: UInt32
    /// The epoch that it was made for: what was left of earlier ones opens nothing any more.
    package let epoch: UInt64
    /// Whether the TPM has it; nil if it could not be asked.
    package internal(set) var isThere: Bool?

    init(_ record: ErasureRecord) {
        index = record.index
        epoch = record.epoch.rawValue
    }
}

extension ItemStore {
    /// Whether the TPM has the erasure secret that the keychain names; false if it names none.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable`, `timedOut`, `inputOutput`.
    func hasErasureSecret() throws(KeychainFailure) -> Bool {
        let operation = "look for the erasure secret"
        return try withEngine(operation) { (engine) throws(KeychainFailure) in
            let facts = try engine.readFacts(operation, Deadline(after: timeLimit))
            let record = try translating(operation) { try facts.newest.erasure }
            guard let record else { return false }
            return try engine.source.hasErasureSecret(
                record, of: facts.settings.keychainID, until: Deadline(after: timeLimit))
        }
    }
}

extension Engine {
    private static let renewal = "give it to `valet rotate` with --owner-authorization-fd"

    /// What `doctor` says of the erasure secret.
    func erasureFindings(_ facts: KeychainFacts, _ deadline: Deadline) throws -> [Finding] {
        try presence(facts, deadline) + erasureWarnings(facts)
    }

    private func presence(_ facts: KeychainFacts, _ deadline: Deadline) throws -> [Finding] {
        guard facts.isBoundToTPM else { return [] }
        let path = location.tpm.place.path
        guard let record = try facts.newest.erasure else {
            return [Finding(.fine, "the TPM keeps no erasure secret", path: path)]
        }
        // Where the TPM does not answer, that is a finding already.
        let isThere = try? source.hasErasureSecret(
            record, of: facts.settings.keychainID, until: deadline)
        guard let isThere else { return [] }
        let name = "the erasure secret at index 0x0\(String(record.index, radix: 16))"
        return [
            isThere
                ? Finding(.fine, "the TPM keeps \(name)", path: path)
                : Finding(
                    .broken, "\(name) is gone from the TPM", path: path,
                    hint: KeychainFailure.recoveryHint)
        ]
    }

    /// What an erasure secret is still there for that nobody needs.
    func erasureWarnings(_ facts: KeychainFacts) throws -> [Finding] {
        // While keys are changing, what is to be destroyed is there.
        guard facts.older == nil, try !isErasePending() else { return [] }
        var findings: [Finding] = []
        if let record = try facts.newest.erasure, record.epoch < facts.newest.epoch {
            findings.append(
                Finding(
                    .warning,
                    "old keys that may be on the disk open with the TPM's erasure secret: it takes "
                        + "the owner's authorization to make a new one",
                    path: location.tpm.place.path, hint: Self.renewal))
        }
        return try findings
            + strayIndices(facts).sorted { $0.rawValue < $1.rawValue }.map { index in
                Finding(
                    .warning, "the TPM may have an erasure secret that nothing needs",
                    path: notePath(of: index),
                    hint: "`valet rotate` destroys it, with --owner-authorization-fd where the "
                        + "TPM's owner has a value; if that TPM is gone, remove the file")
            }
    }
}
