// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The part of `valet doctor` that opens every row and compares it with its hashes and its search
/// entries. ``KeychainExamination`` runs it.
struct RowExamination {
    let state: RowKeys

    func examine(_ store: RowConnection) throws(SystemError) -> [Finding] {
        var (sound, damaged, locked, closed) = (0, 0, 0, 0)
        var entries = SearchEntries(store)
        let run = try store.all.start()
        while try run.step() {
            let found = try FoundRow(run)
            let (row, failure) = examine(found)
            switch failure {
            case .none:
                sound += 1
                if row?.header.flags.isGuarded == true, row?.secret != nil { closed += 1 }
            case .some(let failure) where failure.code == .lockedRow: locked += 1
            case .some: damaged += 1
            }
            try entries.look(for: row, found.number, isSound: failure?.isDamage != true)
        }
        var findings = [Finding(.fine, "rows that open and agree with their hashes: \(sound)")]
        if damaged > 0 {
            findings.append(
                Finding(
                    .damage, "\(Self.rows(damaged)) changed or damaged",
                    path: store.connection.path,
                    hint: "restore the keychain from a copy, or store these items again; "
                        + "`valet rotate --skip-damaged` sets them aside"))
        }
        if locked > 0 {
            findings.append(
                Finding(
                    .warning, "\(Self.rows(locked)) not examined, because the keychain is locked",
                    hint: KeychainFailure.unlockAdvice.commandText))
        }
        if closed > 0 {
            let values = "values that need the user or a password, not opened here"
            findings.append(Finding(.fine, "\(values): \(closed)"))
        }
        findings += try entries.findings() + former(store)
        return findings + (try circle(store.sync))
    }

    /// Opens every entry of sync, as far as its keys are open.
    private func circle(_ tables: SyncTables) throws(SystemError) -> [Finding] {
        var sound = 0
        var damaged = 0
        do {
            try tables.forEachEntry(0...UInt8.max) { (entry) throws(SystemError) in
                do {
                    _ = try state.openFacts(entry)
                    sound += 1
                } catch {
                    damaged += 1
                    return true
                }
                guard let whole = try tables.entry(entry.head.kind, entry.head.id) else {
                    return true
                }
                do throws(SystemError) {
                    _ = try state.openSecret(whole)
                } catch {
                    if error.isDamage { damaged += 1 }
                }
                return true
            }
        } catch {
            guard error.isDamage else { throw error }
            damaged += 1
        }
        var findings: [Finding] = []
        if sound > 0 { findings.append(Finding(.fine, "entries of sync that open: \(sound)")) }
        if damaged > 0 {
            findings.append(
                Finding(
                    .damage, "entries of sync that were changed or damaged: \(damaged)",
                    hint: "run `valet sync leave --here`, and join the circle again"))
        }
        return findings
    }

    /// The row, and the reason why it is damaged or cannot be examined; no reason if it is sound.
    private func examine(_ found: FoundRow) -> (SealedRow?, SystemError?) {
        guard case .row(let row) = found else { return (nil, .row(.damagedColumn)) }
        do {
            try check(row)
            return (row, nil)
        } catch {
            return (row, error)
        }
    }

    private func check(_ row: SealedRow) throws(SystemError) {
        try checkParts(row)
        guard (row.changeNumber != nil) == row.header.flags.contains(.synchronizable) else {
            throw .row(.damagedColumn)
        }
    }

    private func checkParts(_ row: SealedRow) throws(SystemError) {
        let cipher = try state.cipher(examining: row.header)
        let content = try cipher.openContent(row)
        try cipher.checkValue(row, content)
        let hashes = state.hasher.hashes(
            row.header.itemClass, content,
            isSynchronizable: row.header.flags.contains(.synchronizable))
        guard hashes.place == row.place, hashes.encodedOthers == row.hashes
        else { throw .row(.damagedContent) }
    }

    private static func rows(_ count: Int, _ kind: String? = nil) -> String {
        let noun = [kind, count == 1 ? "row was" : "rows were"].compactMap(\.self)
        return "\(count) " + noun.joined(separator: " ")
    }

    private func former(_ store: RowConnection) throws(SystemError) -> [Finding] {
        var (sound, damaged, setAside) = (0, 0, 0)
        try forEachFormer(store) { (former, isIntact) in
            if former.isSetAside {
                setAside += 1
            } else if isIntact {
                sound += 1
            } else {
                damaged += 1
            }
        }
        var findings: [Finding] = []
        if sound > 0 { findings.append(Finding(.fine, "former values: \(sound)")) }
        if damaged > 0 {
            findings.append(
                Finding(
                    .damage, "former values that were changed or damaged: \(damaged)",
                    path: store.connection.path,
                    hint: "`valet history KEY` shows them in their places, and "
                        + "`valet doctor --purge-damaged` deletes them"))
        }
        guard setAside > 0 else { return findings }
        return findings + [
            Finding(
                .warning,
                "\(Self.rows(setAside, "damaged")) set aside: new items replaced them, or the "
                    + "keys changed",
                hint: "store missing items again; `valet doctor --purge-damaged` then deletes "
                    + "these rows for good")
        ]
    }

    /// Calls `body` with every former row, and whether it opens, as far as its keys are open.
    func forEachFormer(
        _ store: RowConnection, _ body: (FormerRow, _ isIntact: Bool) -> Void
    ) throws(SystemError) {
        var first: Int64? = .min
        while let kept = first {
            let batch = try store.formerRows(from: kept, byteCount: 4 << 20, state.hasher)
            for former in batch { body(former, try isIntact(former)) }
            first = batch.last?.kept.successor
        }
    }

    /// Whether a former row opens, as far as its keys are open.
    private func isIntact(_ former: FormerRow) throws(SystemError) -> Bool {
        guard let row = former.sound else { return false }
        do {
            try checkParts(row)
        } catch {
            return !error.isDamage
        }
        return true
    }
}

/// Compares table `attribute` with the rows that its entries name.
private struct SearchEntries {
    private let entry: Statement
    private let ofRow: Statement
    private let all: Statement
    private var present: Int64 = 0
    private var missing: Int64 = 0
    /// Whether the table cannot be read.
    private var isCorrupt = false

    init(_ store: RowConnection) {
        entry = store.entry
        ofRow = Statement("SELECT count(*) FROM attribute WHERE number = ?1", on: store.connection)
        all = Statement("SELECT count(*) FROM attribute", on: store.connection)
    }

    /// Looks for all entries of a row. A damaged row need not have any.
    ///
    /// - Parameter row: nil for a row with columns that no writer writes.
    mutating func look(
        for row: SealedRow?, _ number: Int64, isSound: Bool
    ) throws(SystemError) {
        guard let row else { return try skip(number) }
        guard !isCorrupt, let hashes = try? IndexHashes.others(parsing: row.hashes) else { return }
        for hash in hashes.values {
            switch try unlessCorrupt({ () throws(SystemError) in try has(hash, row.header.number) })
            {
            case true?: present += 1
            case false?: missing += isSound ? 1 : 0
            case nil: isCorrupt = true
            }
        }
    }

    /// Passes over the entries of a damaged row, which has no list of them.
    private mutating func skip(_ number: Int64) throws(SystemError) {
        let count = try unlessCorrupt { () throws(SystemError) in
            let run = try ofRow.start()
            try run.bind(number, at: 1)
            return try run.step() ? run.int64(0) : 0
        }
        if let count { present += count } else { isCorrupt = true }
    }

    private func has(_ hash: IndexHash, _ number: Int64) throws(SystemError) -> Bool {
        let run = try entry.start()
        try run.bind(hash, at: 1)
        try run.bind(number, at: 2)
        return try run.step()
    }

    func findings() throws(SystemError) -> [Finding] {
        guard
            let count = isCorrupt
                ? nil : try unlessCorrupt({ () throws(SystemError) in try count() })
        else {
            return [finding("the table of search entries cannot be read")]
        }
        var findings: [Finding] = []
        if missing > 0 { findings.append(finding("\(missing) search entries are missing")) }
        if count > present {
            findings.append(finding("\(count - present) search entries name no row"))
        }
        return findings
    }

    private func count() throws(SystemError) -> Int64 {
        let run = try all.start()
        return try run.step() ? run.int64(0) : 0
    }

    private func finding(_ message: String) -> Finding {
        Finding(.damage, message, hint: KeychainFailure.repairHint)
    }
}
