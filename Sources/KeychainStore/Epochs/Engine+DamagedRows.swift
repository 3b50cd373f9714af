// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

/// Rows that a change of keys would have to set aside: docs/FORMAT.md §4.4.
extension Engine {
    /// Opens everything in every row, as the change that `opener` is for will do. A recovery is
    /// not kept from anything: there may be no other way to what is sound.
    ///
    /// - Returns: Whether the keychain is still the one that `facts` are of.
    /// - Throws: ``KeychainFailure``: `damaged`, with their number, if rows do not open;
    ///   `authenticationFailed` for a wrong passcode.
    func checkRows(
        of facts: KeychainFacts, openedBy opener: borrowing KeychainOpener, _ operation: String,
        _ deadline: Deadline
    ) throws(KeychainFailure) -> Bool {
        switch opener {
        case .recovery: return true
        case .protector(let protector):
            let (state, proof) = try wrongPasscodes.counting { () throws(KeychainFailure) in
                try translating(operation) {
                    let opened = try facts.unlock(with: protector)
                    return (
                        try KeychainState(facts, opened, opened: nil),
                        try facts.proof(with: protector)
                    )
                }
            }
            guard let count = try damagedRowCount(state, proof, operation, deadline) else {
                return false
            }
            guard count == 0 else { throw Self.refusal(count, operation) }
            return true
        }
    }

    /// - Returns: nil if the keychain is not that of `state` any more.
    private func damagedRowCount(
        _ state: KeychainState, _ proof: PresenceProof, _ operation: String, _ deadline: Deadline
    ) throws(KeychainFailure) -> Int? {
        try withReader(deadline) { (store) throws(KeychainFailure) in
            try translating(operation) {
                let transaction = try ReadTransaction(on: store.connection)
                guard try currentFacts(store).settings == state.settings else { return nil }
                var count = 0
                let run = try store.all.start()
                while try run.step() {
                    let found = try FoundRow(run)
                    if try unlessDamaged({ try state.open(found, proof) }) == nil { count += 1 }
                }
                _ = consume transaction
                return count
            }
        }
    }

    private static func refusal(_ count: Int, _ operation: String) -> KeychainFailure {
        let items = count == 1 ? "1 item is" : "\(count) items are"
        return KeychainFailure(
            .damaged, during: operation, message: "\(items) damaged",
            hint: "`valet doctor` says more; `--skip-damaged` sets damaged items aside for good")
    }

    /// How many rows are in quarantine; every call that finds nothing may ask.
    func quarantinedRowCount(
        _ operation: String, _ deadline: Deadline
    ) throws(KeychainFailure) -> Int {
        try withReader(deadline) { (store) throws(KeychainFailure) in
            try translating(operation) {
                let run = try store.quarantined.start()
                return try run.step() ? Int(run.int64(0)) : 0
            }
        }
    }

    /// How many rows are in quarantine, but for those of a kind that was expected there.
    func quarantinedRowCount(
        but expected: RowKinds?, _ operation: String, _ deadline: Deadline
    ) throws(KeychainFailure) -> Int {
        try withReader(deadline) { (store) throws(KeychainFailure) in
            try translating(operation) {
                let count = Statement(
                    """
                    SELECT protection, flags & 768, count(*) FROM quarantine
                    GROUP BY protection, flags & 768
                    """, on: store.connection)
                var sum = 0
                let run = try count.start()
                while try run.step() {
                    if expected?.contains(run.int64(0), run.int64(1)) == true { continue }
                    sum += Int(run.int64(2))
                }
                return sum
            }
        }
    }
}

/// Rows of some classes, and those that are sealed to some pairs of keys, by what is visible.
struct RowKinds {
    private let classes: [Int64]
    private let presences: [Int64]

    init(_ classes: [ProtectionClass], needing pairs: [PresencePair]) {
        self.classes = classes.map { Int64($0.rawValue) }
        presences = pairs.map {
            Int64(RowFlags(isSynchronizable: false, presence: $0).rawValue)
        }
    }

    /// - Parameters:
    ///   - protection: The number of a row's protection class.
    ///   - presence: The bits of its flags that tell its presence kind.
    func contains(_ protection: Int64, _ presence: Int64) -> Bool {
        classes.contains(protection) || presences.contains(presence)
    }
}

extension KeychainState {
    /// Opens everything in a row; but for a value that takes a proof which is not here.
    func open(_ row: SealedRow, _ proof: PresenceProof?) throws(RowFailure) -> OpenedRow {
        let cipher = try cipher(opening: row.header)
        let content = try cipher.openContent(row)
        guard let secret = row.secret else { return OpenedRow(row: row, content: content) }
        do throws(RowFailure) {
            let value = try cipher.openValue(ValueParts(row), secret.span, proof)
            try cipher.check(value, row.header, content)
            return OpenedRow(row: row, content: content, value: value)
        } catch {
            guard error == .needsPerson else { throw error }
            return OpenedRow(row: row, content: content, isClosed: true)
        }
    }

    fileprivate func open(
        _ found: FoundRow, _ proof: PresenceProof?
    ) throws(RowFailure) -> OpenedRow {
        guard case .row(let row) = found else { throw .column }
        return try open(row, proof)
    }
}
