// SPDX-License-Identifier: Apache-2.0

// `valet sync status`: what the last round of sync found, and what to do about it. docs/SYNC.md §8.

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSync
internal import ValetSyncAgent

extension SyncCall {
    private struct Counts {
        var pending = 0
        var conflicts = 0
        var unsent = 0
        var isPaused = false
        var written: [LogID: UInt64] = [:]
        /// How many items have changed since a command or a round took in local changes.
        var changed = 0
        /// Whether a round would send something.
        var hasNews = false

        /// What a report's state has become since.
        func state(after report: SyncReport) -> SyncState {
            guard !isPaused else { return .paused }
            // Items that cannot travel stay news.
            let isWaiting = changed > 0 || hasNews && !report.holdsItemsBack
            return report.state == .current && isWaiting ? .waiting : report.state
        }
    }

    func showStatus() throws(CLIError) {
        let hasNotes: Bool
        do {
            hasNotes = try keychain.note(.circle, during: "look for a circle") != nil
        } catch {
            guard error.code == .locked else { throw CLIError(ofSync: error) }
            return try showNothing(.closed)
        }
        guard hasNotes else { return try showNothing(.off) }
        let known = try known()
        let counts = try syncing(counts())
        let state = counts.state(after: known.report)
        let findings = try findings(known) + syncing(recoveryFindings(known) + moveFindings(known))
        if values.has(ItemOptions.json) {
            return try console.write(json(known, counts, state, findings))
        }
        try show(known, counts, state)
        for finding in findings { warn(of: finding) }
        if counts.conflicts > 0 { console.hint("'valet sync conflicts list' lists the conflicts") }
        if counts.unsent > 0 {
            console.hint("'valet sync once --add-mine' sends the items that the circle lacks")
        }
    }

    func warn(of finding: SyncFinding) {
        console.note("valet: warning: \(finding.text)")
        if let hint = finding.hint { console.hint(hint) }
    }

    /// The status of a keychain that is in no circle, or was not unlocked since the start of the
    /// machine.
    private func showNothing(_ state: SyncState) throws(CLIError) {
        guard values.has(ItemOptions.json) else {
            try console.write("state       \(state.name)\n")
            return console.hint(
                state == .off
                    ? "'valet sync create' founds a circle, 'valet sync join' joins one"
                    : "unlock the keychain with 'valet unlock'")
        }
        try console.write(json(nil, nil, state, []))
    }

    private func show(_ known: Known, _ counts: Counts, _ state: SyncState) throws(CLIError) {
        let others = others(known)
        let seen = others.count { behind($0, known, counts) == 0 }
        let lines = [
            ("state", state.name), ("circle", known.notes.circle.circle.text),
            ("store", Escaping.printable(known.notes.address.text)),
            ("device", Escaping.printable(ownName(known))),
            ("last round", dateText(known.report.milliseconds)),
            ("to be sent", "\(counts.pending)"),
            ("not in it", counts.unsent == 0 ? "" : "\(counts.unsent) items of this device"),
            ("seen by", others.isEmpty ? "" : "\(seen) of \(others.count)"),
            ("conflicts", "\(counts.conflicts)"),
        ]
        for (name, value) in lines where !value.isEmpty {
            try console.write(name + String(repeating: " ", count: 12 - name.count) + value + "\n")
        }
    }

    private func json(
        _ known: Known?, _ counts: Counts?, _ state: SyncState, _ findings: [SyncFinding]
    ) -> JSON {
        let devices = (known.map(others) ?? []).map { id in
            let device = known?.report.devices[id]
            return JSON.object([
                "id": .string(id.text), "name": .text(known?.notes.names[id]),
                "milliseconds": .number(device?.lastSeen),
                "clockDifference": .number(device?.clockDifference),
                "behind": .number(behind(id, known, counts)),
            ])
        }
        return .object([
            "state": .string(state.name), "circle": .text(known?.notes.circle.circle.text),
            "store": .text(known?.notes.address.text),
            "device": .text(known?.notes.circle.device.text),
            "milliseconds": .number(known?.report.milliseconds),
            "pending": .number(counts?.pending), "unsent": .number(counts?.unsent),
            "conflicts": .number(counts?.conflicts), "devices": .array(devices),
            "findings": .array(
                findings.map { .object(["text": .string($0.text), "hint": .text($0.hint)]) }),
        ])
    }

    private func counts() throws(KeychainFailure) -> Counts {
        let counts = try keychain.read("count changes") { (view) throws(KeychainFailure) in
            var counts = Counts()
            counts.isPaused = try view[.paused] != nil
            counts.conflicts = try view.conflicts().count
            guard let replica = try view.replica else { return counts }
            counts.changed = try view.uncollectedCount
            counts.pending = counts.changed
            counts.unsent = replica.unsent.count
            for scope in KeyScope.allCases {
                let own = replica[scope].own
                counts.pending += replica[scope].pendingCount
                if replica[scope].hasNews || own.unconfirmed != nil { counts.hasNews = true }
                let log = own.id
                counts.written[log] = replica[scope].position(of: log).number
            }
            return counts
        }
        return counts ?? Counts()
    }

    private func ownName(_ known: Known) -> String {
        let id = known.notes.circle.device
        let start = String(id.text.prefix(8))
        return known.notes.names[id].map { "\($0) (\(start))" } ?? start
    }

    private func others(_ known: Known) -> [DeviceID] {
        known.roster.accepted.members.values.map(\.member).filter {
            $0.kind == .device && $0.id != known.notes.circle.device
        }.map(\.id).sorted()
    }

    /// How many messages of this device another device has not read, by that device's own report.
    private func behind(_ device: DeviceID, _ known: Known?, _ counts: Counts?) -> UInt64 {
        let reads = known?.report.devices[device]?.reads ?? [:]
        return (counts?.written ?? [:]).reduce(0) { sum, log in
            let lag = log.value - min(log.value, reads[log.key] ?? 0)
            return sum + min(lag, .max - sum)
        }
    }

    // MARK: Findings

    private func recoveryFindings(_ known: Known) throws(KeychainFailure) -> [SyncFinding] {
        let note = try keychain.note(.recovery, during: "look for the recovery key")
        let key = try store.keychain.status().recoveryPublicKey
        let stale = known.roster.staleRecoveryKeys(
            of: known.notes.circle.device, noted: note, present: key)
        guard !stale.isEmpty else { return [] }
        return [
            SyncFinding(
                "the circle still opens with a recovery key that was replaced or revoked",
                hint: "'valet sync once', with an unlocked keychain, removes it")
        ]
    }

    private func moveFindings(_ known: Known) throws(KeychainFailure) -> [SyncFinding] {
        guard let name = try moverName(of: known.notes.circle.circle) else { return [] }
        return [
            SyncFinding(
                "\(quoted(name)) goes on in a new circle",
                hint: "'valet sync leave --here', then 'valet sync join' with an invitation of it")
        ]
    }

    /// - Parameter kinds: The kinds of trouble to look for; nil for all.
    func findings(_ known: Known, of kinds: Set<SyncReport.Kind>? = nil) -> [SyncFinding] {
        known.report.troubles.filter { kinds?.contains($0.kind) ?? true }
            .sorted { $0.kind.rawValue < $1.kind.rawValue }.map { trouble in
                let author = trouble.device.map(known.text)
                switch trouble.kind {
                case .foreign: return SyncFinding(foreign: trouble.count, author, known.report)
                case .undecided: return SyncFinding(undecidedIn: known)
                default:
                    let (text, hint) = SyncFinding.known[trouble.kind] ?? ("\(trouble.kind)", nil)
                    let words = ["COUNT": "\(trouble.count)", "DEVICE": author ?? "a device"]
                    let parts = text.split(separator: " ").map { words[String($0)] ?? String($0) }
                    return SyncFinding(parts.joined(separator: " "), hint: hint)
                }
            }
    }
}

struct SyncFinding {
    /// The fault: lower case, no full stop.
    let text: String
    /// The remedy; nil if sync mends it.
    let hint: String?

    init(_ text: String, hint: String? = nil) { (self.text, self.hint) = (text, hint) }

    private static let remove = "'valet sync devices remove' removes it"
    private static let misbehaviour = "if it is yours, let it leave and join again; else \(remove)"
    private static let move = "'valet sync move' founds a new circle with the same items"
    private static let clean =
        "find out who else writes in the store; files that no device has written may be deleted"
    private static let look =
        "check that the store shows everything that other devices have written"

    /// The findings for troubles of the report, where DEVICE stands for the device and COUNT for
    /// how many there are. Initializers make those for `foreign` and `undecided`.
    static let known: [SyncReport.Kind: (text: String, hint: String?)] = [
        .unequalKeys: ("DEVICE has given wrong keys to this device", misbehaviour),
        .refusedEntry:
            ("DEVICE has signed a change of the circle that breaks a rule", misbehaviour),
        .claims: ("DEVICE says that this device has written what it has not", misbehaviour),
        .cloudIsFull: ("DEVICE names too many records that nobody has seen", misbehaviour),
        .invalidMessage: ("DEVICE has signed a message that breaks a rule", misbehaviour),
        .tooManyLogs: ("a message of DEVICE would bring more logs than a circle has", move),
        .circleIsTooLarge: ("the circle has more items than can be passed on", move),
        .rosterWasLost: ("the store had lost COUNT changes of the circle; they were put back", nil),
        .storeWasSetBack:
            ("the store was set back to an older state; what it lost is put back", nil),
        .rosterIsTooLong:
            ("the store has more files among the changes of the circle than are read", clean),
        .logIsTooLong:
            ("the store has more files among the messages of DEVICE than are read", clean),
        .partial: ("COUNT messages of DEVICE are still arriving", nil),
        .unknown: ("the store withholds a change of the circle that DEVICE names", look),
        .withheld: ("COUNT messages that another device has read are missing in the store", look),
        .copied: (
            "this keychain was restored or copied",
            "after a restore, nothing is to be done; remove a copy that you do not know"
        ),
        .unreadableRecord: (
            "an item cannot be read, so that this device cannot pass everything on",
            "'valet doctor' names damaged items: store them again, or remove them"
        ),
        .tooLarge: (
            "COUNT items are too large to travel, and stay on this device",
            "a synchronizable item has at most \(SyncRecord.maximalContentByteCount) bytes with "
                + "its attributes"
        ),
        .noKeys: (
            "no device has given the newest keys to this one",
            "unlock another device, and let it sync"
        ),
        .keysAreToBeChanged:
            ("a device has left: the next unlocked device changes the keys of the circle", nil),
        .twoHistories: ("DEVICE writes from two places", "unless you know why: \(remove)"),
        .replacedValuesAreFull: (
            "DEVICE is about to replace or remove more values than can be kept",
            "'valet sync accept' permits it; if it was not you, \(remove)"
        ),
        .newer: ("DEVICE uses a newer version", "update this program"),
        .clock: ("the clock of DEVICE differs by more than ten minutes", "set the clocks"),
    ]

    /// Files that no member has signed: the store has them, and no device is blamed for them.
    fileprivate init(foreign count: UInt32, _ name: String?, _ report: SyncReport) {
        let place = name.map { "among the messages of \($0)" } ?? "among the changes of the circle"
        let files = count == 1 ? "1 file is" : "\(count) files are"
        let names = report.foreignNames.sorted().map(quoted).joined(separator: ", ")
        self.init(
            "in the store, \(place), \(files) signed by no device",
            hint: names.isEmpty
                ? Self.clean : "another program may have left \(names): delete what is not needed")
    }

    fileprivate init(undecidedIn known: SyncCall.Known) {
        // Names may be alike, and one of these devices may have chosen its own.
        let names = known.roster.alarmAuthors.sorted().map { id in
            "\(known.text(of: id)) (\(id.text.prefix(8)))"
        }
        self.init(
            "these devices remove each other: \(names.joined(separator: ", "))",
            hint: "'valet sync distrust DEVICE' names the one that is not yours")
    }
}
