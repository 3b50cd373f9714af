// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeys
internal import ValetSealing
internal import ValetSystem

// `valet doctor`: the examination of files, database, keys, readers and the TPM, and the discarding
// of a damaged log. `RowExamination` examines the rows.

extension Keychain {
    private static let diagnosing = "examine the keychain"

    /// Checks files, database, keys and every row, and changes nothing.
    ///
    /// Reads the whole keychain. A failure that stops the examination is the last finding.
    package func diagnose() -> [Finding] {
        var findings: [Finding] = []
        do {
            let isThere = try store.inspect(Self.diagnosing) { (keys) throws(KeychainFailure) in
                try KeychainExamination(keys: keys).run(into: &findings)
                findings.append(.memory)
                return true
            }
            if isThere == nil {
                findings.append(
                    Finding(
                        .fine, "there is no keychain yet; the first write creates one",
                        path: store.location.folder))
            }
        } catch {
            let last = Finding(error)
            if error.code == .insecureFiles {
                findings += store.location.refusedFiles(during: Self.diagnosing).map(Finding.init)
            }
            // The examination may have reported the same problem before it failed.
            findings.removeAll { $0.message == last.message && $0.path == last.path }
            findings.append(last)
        }
        return findings
    }
}

extension Keychain {
    /// Sets a damaged log aside, unchanged, and continues without the commits that it has lost.
    ///
    /// - Returns: The path of the damaged log; nil, with nothing done, if the log is not damaged.
    /// - Throws: ``KeychainFailure``: `timedOut`, `diskFull`, `readOnly`, `inputOutput`, also if an
    ///   earlier damaged log is still kept; `itemNotFound` if there is no keychain.
    package func discardDamagedLog() throws(KeychainFailure) -> String? {
        try store.workOnKeys(LogDamage.discarding) { (keys) throws(KeychainFailure) in
            let pool = keys.keychain.pool
            return try LogDamage(pool.directory).discard(pool.lock, keys.deadline)
        }
    }

    /// Findings on device keys that a key change could not erase, and on other files with names
    /// of device keys.
    package func strayDeviceKeys() -> [Finding] {
        do {
            return try store.workOnKeys(Self.diagnosing) { (keys) throws(KeychainFailure) in
                let header = try keys.header()
                let found = try translating(
                    KeychainExamination(keys: keys).strayKeys(header), during: keys.operation)
                return found.filter { $0.severity != .fine }
            }
        } catch {
            return [Finding(error)]
        }
    }
}

extension Finding {
    /// The finding for a failure of the examination itself.
    init(_ failure: KeychainFailure) {
        let severity: Severity =
            switch failure.code {
            case .damaged, .keychainDamaged: .damage
            case .locked: .warning
            default: .broken
            }
        self.init(severity, failure.message, path: failure.path, hint: Self.hint(for: failure))
    }

    /// The hint of a failure, without the advice to run `valet doctor`, which is running.
    private static func hint(for failure: KeychainFailure) -> String? {
        guard let hint = failure.commandHint, hint.hasPart("`valet doctor`") else {
            return failure.commandHint
        }
        switch failure.code {
        case .keychainDamaged: return KeychainFailure.repairOrRestoreHint
        case .damaged: return KeychainFailure.restoreHint
        case .timedOut: return "end the other process, or wait until it has ended, and try again"
        case .inputOutput: return "check the disk"
        default: return nil
        }
    }
}

/// The examination of one keychain: files, database, keys, readers and, in ``RowExamination``,
/// every row. Changes nothing.
struct KeychainExamination {
    let keys: KeychainPasscodes
    private var directory: PrivateDirectory { keys.keychain.directory }

    /// Examines files, database, keys and rows.
    ///
    /// - Parameter findings: Receives the findings, even if this throws later.
    func run(into findings: inout [Finding]) throws(KeychainFailure) {
        var found = try translating(examineFiles(), during: keys.operation)
        let problems = try keys.read { (store) throws(KeychainFailure) in
            try translating(store.connection.integrityProblems(), during: keys.operation)
        }
        found += problems.prefix(20).map { Finding(.damage, "database: \($0)", path: path) }
        if problems.count > 20 {
            found.append(
                Finding(.damage, "database: there are more problems than these", path: path))
        }
        if problems.isEmpty { found.append(Finding(.fine, "the database is sound", path: path)) }
        findings = found
        findings += try examineKeys()
        findings += try examineRows()
        guard !problems.isEmpty else { return }
        findings.append(
            Finding(
                .damage, "the rows of the database can be read, but its structure is damaged",
                path: path, hint: KeychainFailure.repairOrRestoreHint))
    }

    private func examineRows() throws(KeychainFailure) -> [Finding] {
        let call = StoreCall(
            operation: keys.operation, location: keys.keychain.location, deadline: keys.deadline,
            now: Moment(nanoseconds: WallClock.nanoseconds))
        return try keys.keychain.read(call) { (snapshot) throws(KeychainFailure) in
            try translating(
                RowExamination(state: snapshot.state).examine(snapshot.store),
                during: keys.operation)
        }
    }

    private var path: String { directory.path(of: KeychainFile.database) }

    private func examineFiles() throws(SystemError) -> [Finding] {
        var findings = [
            Finding(
                .fine, "owner and permissions of folder and files are right",
                path: directory.path)
        ]
        for suffix in ["", "-wal", "-shm"] {
            _ = try directory.check(file: KeychainFile.database + suffix)
        }
        _ = try directory.check(file: KeychainFile.lock)
        for name in try directory.names() where name.hasPrefix(KeychainFile.newDatabase) {
            findings.append(
                Finding(
                    .warning, "left over from an interrupted creation",
                    path: directory.path(of: name), hint: "remove it"))
        }
        if let path = try LogDamage(directory).keptPath() {
            findings.append(
                Finding(
                    .warning, "a damaged log is kept, with old keys", path: path,
                    hint: "store missing items again; then remove this file"))
        }
        findings += readerFindings()
        if directory.isReadOnly {
            findings.append(
                Finding(.warning, "the file system is read-only", path: directory.path))
        }
        return findings
    }

    // Keys: docs/FORMAT.md §4.4.

    /// Examines the place of opened keys, the recovery key, the remains of an interrupted change of
    /// keys, the TPM and the device key.
    private func examineKeys() throws(KeychainFailure) -> [Finding] {
        let header = try keys.header()
        var findings: [Finding] = []
        if let provider = header.lockState?.provider {
            let place = provider.place == .kernel ? "kernel" : "process"
            findings.append(
                Finding(.fine, "opened keys are in the \(place): \(provider.reason)"))
        }
        findings += header.openedKeys.findings().map { finding in
            Finding(
                .warning, finding,
                hint: "find out which program did that; `valet lock --all` removes them")
        }
        if try header.keybag.recoveryPublicKey != nil {
            findings.append(Finding(.fine, "a recovery key opens the keychain"))
        }
        findings += try translating(
            changeFindings(header) + strayKeys(header), during: keys.operation)
        findings += tpmFindings(header)
        return findings + deviceKeyFindings(header)
    }

    /// Checks the device key. An unlocked keychain works without it, but the next unlock fails.
    private func deviceKeyFindings(_ header: KeychainHeader) -> [Finding] {
        guard header.lockState != nil else { return [] }
        do {
            try keys.source.check(header, until: keys.deadline)
            return []
        } catch {
            return [Finding(error)]
        }
    }

    private func changeFindings(_ header: KeychainHeader) throws(SystemError) -> [Finding] {
        guard try keys.keychain.isErasePending() else { return [] }
        return [
            Finding(
                .warning, "old keys may still be on the disk",
                hint: "end programs that keep reading the keychain; then change an item")
        ]
    }

    // Readers.

    /// The time in nanoseconds after which a reader is reported.
    private static let patience: Int64 = 200_000_000

    /// The processes that prevent the log from being shortened: those that were stopped while they
    /// read, and those that keep reading while the log is long, or while old keys are to be erased.
    /// While a process reads, every write makes the log longer.
    private func readerFindings() -> [Finding] {
        let first = DatabaseReader.all(of: KeychainFile.database, in: directory)
        guard !first.isEmpty else { return [] }
        _ = Deadline.never.sleep(atMost: Self.patience)
        let log = try? directory.check(file: KeychainFile.database + "-wal")
        let byteCount = log?.byteCount ?? 0
        let isWanted =
            byteCount > 2 * Int64(Connection.keptLogByteCount)
            || (try? keys.keychain.isErasePending()) != false
        return DatabaseReader.all(of: KeychainFile.database, in: directory).filter { reader in
            first.contains { $0.process == reader.process } && (reader.isStopped || isWanted)
        }.map { Self.finding($0, byteCount, directory.path(of: KeychainFile.database)) }
    }

    private static func finding(
        _ reader: DatabaseReader, _ byteCount: Int64, _ path: String
    ) -> Finding {
        let name = reader.program.isEmpty ? "" : " (\(reader.program))"
        let state = reader.isStopped ? "is stopped while it reads" : "is reading"
        let advice = reader.isStopped ? "resume it, `kill -CONT \(reader.process)`," : "wait,"
        return Finding(
            .warning,
            "process \(reader.process)\(name) \(state): the log, which has \(byteCount) bytes, "
                + "grows with each write until the process has finished",
            path: path + "-wal", hint: "\(advice) or end it, `kill \(reader.process)`")
    }

    // Device keys that nothing needs, and other files with names of device keys.

    /// Findings on device keys that are not in use, and on other files with such names. None
    /// advises to erase a file while the device key in use is missing.
    func strayKeys(_ header: KeychainHeader) throws(SystemError) -> [Finding] {
        guard let folder = try DeviceKeyFolder(keys.keychain, header) else { return [] }
        let isFile = header.keybag.deviceSource == .ownFile
        // While the device key in use is missing, another file may be its only copy.
        let isSeen = isFile ? try folder.hasKey(header.keybag.deviceKeyID) : true
        // The previous device key keeps its name until a key change has ended.
        let isChanging = try keys.keychain.isErasePending()
        let former = try keys.keychain.deviceKeysToErase()
        var findings: [Finding?] = []
        for name in try folder.names() {
            let isUsual = name == KeychainFile.deviceKey
            switch try folder.entry(name) {
            case nil, .inUse: continue
            case .remnant where isSeen:
                findings.append(Finding(unusedKeyAt: folder.path(of: name)))
            case .other(let id) where isSeen && !(isUsual && isChanging):
                let isFormer = DeviceKeyFolder.isOurs(name) && former.contains(id)
                let path = folder.path(of: name)
                findings.append(isFormer ? Finding(unusedKeyAt: path) : Finding(otherKeyAt: path))
            case .remnant, .other: continue
            case .foreign(let owner):
                // It does no harm, unless it has the name that this keychain's device key needs.
                findings.append(
                    Finding(
                        of: owner, at: folder.path(of: name), inTheWay: isUsual && isFile))
            case .strange(let reason):
                findings.append(isSeen ? Finding(strange: reason, at: folder.path(of: name)) : nil)
            }
        }
        return findings.compactMap(\.self)
    }

    // The TPM.

    private func tpmFindings(_ header: KeychainHeader) -> [Finding] {
        guard header.isBoundToTPM else { return [] }
        let path = keys.keychain.location.tpmPath
        do {
            let tpm = try keys.keychain.location.tpmSummary(until: keys.deadline)
            let hasPasscode = header.keybag.level == .tpmAndPasscode
            return [
                tpm.tries(path), tpm.lockout(path, hasPasscode: hasPasscode),
                tpm.storageRootKey(path),
            ] + registers(header, path)
        } catch {
            return [Finding(error)]
        }
    }

    private func registers(_ header: KeychainHeader, _ path: String) -> [Finding] {
        guard let pcrs = try? keys.source.pcrs(of: header.keybag), !pcrs.isEmpty else { return [] }
        let numbers = pcrs.map(String.init).joined(separator: ", ")
        return [
            Finding(.fine, "the device key is bound to PCRs of the TPM: \(numbers)", path: path)
        ]
    }
}

extension Finding {
    fileprivate init(unusedKeyAt path: String) {
        self.init(
            .warning, "an unused device key of an interrupted key change", path: path,
            hint: "`valet rotate` removes it")
    }

    fileprivate init(otherKeyAt path: String) {
        self.init(
            .warning, "another device key of this keychain: it may belong to a newer copy",
            path: path, hint: "erase it (shred -u) if no copy of the keychain needs it")
    }

    fileprivate init(strange reason: String, at path: String) {
        self.init(
            .warning, "it has the name of a device key and is left unchanged: \(reason)",
            path: path,
            hint: "move it away; erase it if it may be an old device key (shred -u)")
    }

    fileprivate init(of owner: KeychainID, at path: String, inTheWay isInTheWay: Bool) {
        let message = "it is the device key of another keychain (\(owner)), and is left unchanged"
        guard isInTheWay else {
            self.init(.fine, message, path: path)
            return
        }
        self.init(
            .warning, message, path: path,
            hint: "move it to where that keychain looks for it; do not erase it")
    }
}

extension TPMSummary {
    fileprivate func tries(_ path: String) -> Finding {
        let state = "\(triesLeft) of \(tryLimit) wrong passcodes"
        guard !isLockedOut else {
            return Finding(
                .warning, "the TPM refuses passcodes, because too many were wrong", path: path,
                hint: "wait: it allows one more every \(recoveryInterval.components.seconds) s")
        }
        let isLow = 2 * triesLeft < tryLimit
        return Finding(
            isLow ? .warning : .fine, "the TPM allows \(state) before it refuses all", path: path,
            hint: isLow
                ? "wait: it allows one more every \(recoveryInterval.components.seconds) s" : nil)
    }

    fileprivate func lockout(_ path: String, hasPasscode: Bool) -> Finding {
        guard isLockoutResettable else {
            return Finding(.fine, "the TPM's lockout authorization is set", path: path)
        }
        return Finding(
            hasPasscode ? .warning : .fine,
            "the TPM's lockout authorization is empty: anyone able to start another system on "
                + "this machine can reset the count of wrong passcodes",
            path: path, hint: hasPasscode ? Self.lockoutHint : nil)
    }

    /// How to make the TPM's limit on guesses effective. The value is in a file, because other
    /// users can read arguments.
    package static let lockoutHint =
        "set it with `tpm2_changeauth -c lockout file:PATH`, and keep what is in that file"

    fileprivate func storageRootKey(_ path: String) -> Finding {
        Finding(
            .fine,
            hasPersistentStorageRootKey
                ? "the TPM keeps its storage root key"
                : "the TPM makes its storage root key for each use", path: path)
    }
}

extension Finding {
    /// Whether the memory for secrets stays out of the swap. A full arena is not reported: it
    /// concerns this process alone.
    package static var memory: Finding {
        guard let failure = SecretArena.failure, failure.code != .full else {
            return Finding(.fine, "the memory for secrets is guarded, and not swapped out")
        }
        return Finding(
            .warning, "secrets may be swapped out: \(failure)",
            hint: "allow 1 MiB of locked memory (`ulimit -l`, or LimitMEMLOCK= of a service), or "
                + "encrypt the swap")
    }
}
