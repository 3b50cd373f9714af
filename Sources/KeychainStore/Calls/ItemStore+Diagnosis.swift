// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

extension ItemStore {
    private static let diagnosing = "examine the keychain"

    /// Checks files, database, keys and every row, and changes nothing.
    ///
    /// Reads the whole keychain; the last finding that keeps it from working comes last.
    package func diagnose() -> [Finding] {
        var findings: [Finding] = []
        do throws(KeychainFailure) {
            let isThere = try reading(Self.diagnosing) {
                (engine, deadline) throws(KeychainFailure) in
                try engine.examine(deadline, into: &findings)
                findings.append(.memory)
                return true
            }
            if isThere == nil {
                findings.append(
                    Finding(
                        .fine, "there is no keychain yet; the first write creates one",
                        path: location.folder))
            }
        } catch {
            let last = Finding(error)
            if error.code == .insecureFiles {
                findings += location.refusedFiles(during: Self.diagnosing).map(Finding.init)
            }
            // What keeps the keys away may have been found already.
            findings.removeAll { $0.message == last.message && $0.path == last.path }
            findings.append(last)
        }
        return findings
    }
}

extension ItemStore {
    /// Goes on without what a damaged log has lost, and keeps the log as it is.
    ///
    /// - Returns: Where it is kept; nil if the log is not damaged, and nothing was done.
    /// - Throws: ``KeychainFailure``: `timedOut`, `diskFull`, `readOnly`, `inputOutput` also where
    ///   a log is kept already; `itemNotFound` if there is no keychain.
    package func discardDamagedLog() throws(KeychainFailure) -> String? {
        let operation = "discard the log"
        return try withEngine(operation) { (engine) throws(KeychainFailure) in
            try engine.discardDamagedLog(operation, Deadline(after: timeLimit))
        }
    }

    /// What a change of keys could not erase: what has the name of a device key and is in the way
    /// or of no use.
    package func strayDeviceKeys() -> [Finding] {
        do throws(KeychainFailure) {
            return try withEngine(Self.diagnosing) { (engine) throws(KeychainFailure) in
                let facts = try engine.readFacts(Self.diagnosing, Deadline(after: timeLimit))
                let found = try translating(Self.diagnosing) { try engine.strayKeys(facts) }
                return found.filter { $0.severity != .fine }
            }
        } catch {
            return [Finding(error)]
        }
    }
}

extension Finding {
    /// What a failure of the examination itself tells.
    init(_ failure: KeychainFailure) {
        let severity: Severity =
            switch failure.code {
            case .damaged, .keychainDamaged: .damage
            case .locked: .warning
            default: .broken
            }
        self.init(severity, failure.message, path: failure.path, hint: Self.hint(for: failure))
    }

    /// What helps. The reader of this has run `doctor` already.
    private static func hint(for failure: KeychainFailure) -> String? {
        guard let hint = failure.hint, hint.hasPart("`valet doctor`") else { return failure.hint }
        switch failure.code {
        case .damaged, .keychainDamaged: return KeychainFailure.restoreHint
        case .timedOut: return "end the other process, or wait until it has ended, and try again"
        case .inputOutput: return "look at the disk"
        default: return nil
        }
    }
}

extension Engine {
    fileprivate func examine(
        _ deadline: Deadline, into findings: inout [Finding]
    ) throws(KeychainFailure) {
        var found: [Finding] = []
        found.append(contentsOf: try examineFiles())
        let problems = try withReader(deadline) { (store) throws(KeychainFailure) in
            try translating("examine the keychain") {
                try store.connection.integrityProblems()
            }
        }
        found += problems.prefix(20).map { Finding(.damage, "database: \($0)", path: path) }
        if problems.isEmpty { found.append(Finding(.fine, "the database is sound", path: path)) }
        findings = found
        findings += try examineKeys(deadline)
        findings += try examineRows(deadline)
        guard !problems.isEmpty else { return }
        findings.append(
            Finding(
                .damage, "the rows of the database can be read, its structure is damaged",
                path: path,
                hint: KeychainFailure.repairHint + ", or changes nothing if items are lost"))
    }

    private func examineRows(_ deadline: Deadline) throws(KeychainFailure) -> [Finding] {
        try read("examine the keychain", deadline) { (store, state) throws(KeychainFailure) in
            try translating("examine the keychain") {
                try RowExamination(state: state).examine(store)
            }
        }
    }

    private var path: String { directory.path(of: KeychainLocation.databaseName) }

    private func examineFiles() throws(KeychainFailure) -> [Finding] {
        try translating("examine the keychain") {
            var findings = [
                Finding(
                    .fine, "owner and permissions of folder and files are right",
                    path: directory.path)
            ]
            for suffix in ["", "-wal", "-shm"] {
                _ = try directory.check(file: KeychainLocation.databaseName + suffix)
            }
            _ = try directory.check(file: KeychainLocation.lockName)
            for name in try directory.names() where name.hasPrefix(KeychainLocation.newDatabaseName)
            {
                findings.append(
                    Finding(
                        .warning, "left over from a creation that did not end",
                        path: directory.path(of: name), hint: "remove it"))
            }
            if let kept = try keptLogFinding() { findings.append(kept) }
            findings += readerFindings()
            if directory.isReadOnly {
                findings.append(
                    Finding(.warning, "the file system can only be read", path: directory.path))
            }
            return findings
        }
    }
}

/// Opens every row and compares it with all that should follow from it.
struct RowExamination {
    let state: KeychainState

    func examine(_ store: StoreConnection) throws -> [Finding] {
        var sound = 0
        var damaged = 0
        var locked = 0
        var closed = 0
        var entries = SearchEntries(store)
        let run = try store.all.start()
        while try run.step() {
            let (row, failure) = try examine(FoundRow(run))
            switch failure {
            case .none:
                sound += 1
                if row?.header.flags.isGuarded == true, row?.secret != nil { closed += 1 }
            case .locked: locked += 1
            case .some: damaged += 1
            }
            if let row { try entries.look(for: row, isSound: failure?.isDamage != true) }
        }
        var findings = [Finding(.fine, "rows that open and agree with their hashes: \(sound)")]
        if damaged > 0 {
            findings.append(
                Finding(
                    .damage, "\(Self.rows(damaged)) changed or damaged",
                    path: store.connection.path,
                    hint: "restore the keychain from a copy, or write these items anew"))
        }
        if locked > 0 {
            findings.append(
                Finding(
                    .warning, "\(Self.rows(locked)) not examined, because the keychain is locked",
                    hint: KeychainFailure.unlockHint))
        }
        if closed > 0 {
            let values = "values that take a person or a password, not opened for this"
            findings.append(Finding(.fine, "\(values): \(closed)"))
        }
        findings += try entries.findings() + quarantine(store) + programs(store)
        return findings
    }

    /// The row, and why it is not known to be sound.
    private func examine(_ found: FoundRow) -> (SealedRow?, RowFailure?) {
        guard case .row(let row) = found else { return (nil, .column) }
        do throws(RowFailure) {
            try check(row)
            return (row, nil)
        } catch {
            return (row, error)
        }
    }

    private func check(_ row: SealedRow) throws(RowFailure) {
        let cipher = try state.cipher(examining: row.header)
        let content = try cipher.openContent(row)
        try cipher.checkValue(row, content)
        guard (row.changeNumber != nil) == row.header.flags.contains(.synchronizable) else {
            throw .column
        }
        let hashes = state.hasher(of: row.header).hashes(
            row.header.itemClass, content,
            isSynchronizable: row.header.flags.contains(.synchronizable))
        guard hashes.place == row.place, hashes.account == row.accountHash,
            hashes.encodedOthers == row.hashes
        else { throw .content }
    }

    private static func rows(_ count: Int, _ kind: String? = nil) -> String {
        let noun = [kind, count == 1 ? "row was" : "rows were"].compactMap(\.self)
        return "\(count) " + noun.joined(separator: " ")
    }

    private func quarantine(_ store: StoreConnection) throws -> [Finding] {
        let count = try store.connection.count(.quarantinedRows)
        guard count > 0 else { return [] }
        return [
            Finding(
                .warning,
                "\(Self.rows(count, "damaged")) set aside: something took their place, or the keys "
                    + "changed",
                hint: "write anew what is missing; `valet doctor --clear-quarantine` then removes "
                    + "these rows for good")
        ]
    }

    /// The paths of programs by their identifiers; nil if the record of them is damaged.
    private func soundPrograms(_ store: StoreConnection) throws -> [String: [String]]? {
        do {
            return try unlessCorrupt { try recordedPrograms(store) }
        } catch is RowFailure {
            return nil
        }
    }

    private func recordedPrograms(_ store: StoreConnection) throws -> [String: [String]] {
        var paths: [String: [String]] = [:]
        let all = Statement("SELECT id, sealed FROM program", on: store.connection)
        let run = try all.start()
        while try run.step() {
            let record = try state.open(program: run.blob(1), run.fixedBytes(0))
            paths[record.applicationIdentifier, default: []].append(record.path)
        }
        return paths
    }

    /// One name that several programs use may be an accident.
    private func programs(_ store: StoreConnection) throws -> [Finding] {
        guard let paths = try soundPrograms(store) else {
            return [
                Finding(
                    .damage, "the record of programs was changed or damaged",
                    hint: KeychainFailure.repairHint)
            ]
        }
        return paths.filter { $0.value.count > 1 }.sorted { $0.key < $1.key }.map { name, paths in
            Finding(
                .warning,
                "\(paths.count) programs use the application identifier \(name): "
                    + paths.sorted().joined(separator: ", "),
                hint: "give each its own with an entitlements file")
        }
    }
}
