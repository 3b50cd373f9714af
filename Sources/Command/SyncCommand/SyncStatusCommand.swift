// SPDX-License-Identifier: Apache-2.0

// `valet sync status`: what the last round of sync found, and what to do about it. docs/SYNC.md §8.

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSync
internal import ValetSyncAgent

extension SyncCall {
    /// What `status` counts in the keychain.
    private struct Counts {
        var pending = 0
        var conflicts = 0
        var unsent = 0
        var isPaused = false
        /// How far this device has written.
        var written: [LogID: UInt64] = [:]
    }

    /// `valet sync status`.
    func showStatus() throws {
        let hasNotes: Bool
        do {
            hasNotes = try keychain.read("look for a circle") { try $0[.circle] != nil } ?? false
        } catch {
            guard error.code == .locked else { throw error }
            return try showNothing(.closed)
        }
        guard hasNotes else { return try showNothing(.off) }
        let known = try known()
        let counts = try counts()
        let state = counts.isPaused ? SyncState.paused : known.report.state
        let findings = try findings(known) + recoveryFindings(known) + moveFindings(known)
        if values.has(SyncOptions.json) {
            return try console.write(json(known, counts, state, findings))
        }
        try show(known, counts, state)
        for finding in findings {
            console.note("valet: warning: \(finding.text)")
            if let hint = finding.hint { console.hint(hint) }
        }
        if counts.conflicts > 0 { console.hint("'valet sync conflicts list' lists the conflicts") }
        if counts.unsent > 0 {
            console.hint("'valet sync once --add-mine' sends the items that the circle lacks")
        }
    }

    /// The status of a keychain in no circle, or of one that nothing can be read of.
    private func showNothing(_ state: SyncState) throws {
        guard values.has(SyncOptions.json) else {
            try console.write("state       \(state.name)\n")
            return console.hint(
                state == .off
                    ? "'valet sync create' founds a circle, 'valet sync join' joins one"
                    : "unlock the keychain with 'valet unlock'")
        }
        try console.write(
            .object([
                "state": .string(state.name), "circle": .null, "store": .null, "device": .null,
                "milliseconds": .null, "pending": .null, "unsent": .null, "conflicts": .null,
                "devices": .array([]), "findings": .array([]),
            ]))
    }

    private func show(_ known: Known, _ counts: Counts, _ state: SyncState) throws {
        let others = others(known)
        let seen = others.count { behind($0, known, counts) == 0 }
        let lines = [
            ("state", state.name), ("circle", known.notes.circle.circle.text),
            ("store", Escaping.printable(known.notes.address.text)),
            ("device", Escaping.printable(ownName(known))),
            ("last round", TimeText.date(known.report.milliseconds)),
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
        _ known: Known, _ counts: Counts, _ state: SyncState, _ findings: [SyncFinding]
    ) -> JSON {
        let devices = others(known).map { id in
            let device = known.report.devices[id]
            return JSON.object([
                "id": .string(id.text), "name": .text(known.notes.names.names[id]),
                "milliseconds": .number(device?.lastSeen),
                "clockDifference": .number(device?.clockDifference),
                "behind": .number(behind(id, known, counts)),
            ])
        }
        return .object([
            "state": .string(state.name), "circle": .string(known.notes.circle.circle.text),
            "store": .string(known.notes.address.text),
            "device": .string(known.notes.circle.device.text),
            "milliseconds": .number(known.report.milliseconds),
            "pending": .number(counts.pending), "unsent": .number(counts.unsent),
            "conflicts": .number(counts.conflicts), "devices": .array(devices),
            "findings": .array(
                findings.map { .object(["text": .string($0.text), "hint": .text($0.hint)]) }),
        ])
    }

    private func counts() throws -> Counts {
        let counts = try keychain.read("count changes") { view in
            var counts = Counts()
            counts.isPaused = try view[.paused] != nil
            counts.conflicts = try view.conflicts().count
            guard let replica = try view.replica else { return counts }
            counts.unsent = replica.unsent.count
            for scope in KeyScope.allCases {
                counts.pending += replica[scope].pendingCount
                let log = replica[scope].own.id
                counts.written[log] = replica[scope].position(of: log).number
            }
            return counts
        }
        return counts ?? Counts()
    }

    /// The name of this device, and the beginning of its id.
    private func ownName(_ known: Known) -> String {
        let id = known.notes.circle.device
        let start = String(id.text.prefix(8))
        return known.notes.names.names[id].map { "\($0) (\(start))" } ?? start
    }

    private func others(_ known: Known) -> [DeviceID] {
        known.roster.accepted.members.values.map(\.member).filter {
            $0.kind == .device && $0.id != known.notes.circle.device
        }.map(\.id).sorted()
    }

    /// How many messages of this device another one has not read, as far as its own say.
    private func behind(_ device: DeviceID, _ known: Known, _ counts: Counts) -> UInt64 {
        let reads = known.report.devices[device]?.reads ?? [:]
        return counts.written.reduce(0) { sum, log in
            let lag = log.value - min(log.value, reads[log.key] ?? 0)
            return sum + min(lag, .max - sum)
        }
    }

    // MARK: Findings

    private func recoveryFindings(_ known: Known) throws -> [SyncFinding] {
        let note = try keychain.read("look for the recovery key") { try $0[.recovery] } ?? nil
        let key = try store.keychain.status().recoveryPublicKey
        guard known.roster.staleRecoveryKey(noted: note, present: key) != nil else { return [] }
        return [
            SyncFinding(
                "the circle still opens with a recovery key that was replaced or revoked",
                hint: "'valet sync once', with an unlocked keychain, removes it")
        ]
    }

    private func moveFindings(_ known: Known) throws -> [SyncFinding] {
        guard let name = try moverName(of: known.notes.circle.circle) else { return [] }
        return [
            SyncFinding(
                "\(quoted(name)) goes on in a new circle",
                hint: "'valet sync leave --here', then 'valet sync join' with an invitation of it")
        ]
    }

    private func findings(_ known: Known) -> [SyncFinding] {
        known.report.troubles.sorted { $0.kind.rawValue < $1.kind.rawValue }.map { trouble in
            let author = trouble.device.map(known.text)
            switch trouble.kind {
            case .foreign: return SyncFinding(foreign: trouble.count, author, known.report)
            case .undecided: return SyncFinding(undecidedIn: known)
            default:
                guard let known = SyncFinding.known[trouble.kind] else {
                    return SyncFinding("\(trouble.kind)")
                }
                return SyncFinding(
                    known.text(author ?? "a device", trouble.count), hint: known.hint)
            }
        }
    }
}

/// A fault, and what to do about it.
struct SyncFinding {
    /// The fault: lower case, no full stop.
    let text: String
    /// The remedy; nil if sync mends it.
    let hint: String?

    init(_ text: String, hint: String? = nil) {
        self.text = text
        self.hint = hint
    }
}

extension SyncFinding {
    private static let remove = "'valet sync devices remove' removes it"
    private static let misbehaviour = "if it is yours, let it leave and join again; else \(remove)"
    private static let move = "'valet sync move' founds a new circle with the same items"
    private static let clean =
        "find out who else writes in the store; files that no device has written may be deleted"
    private static let look =
        "check that the store shows everything that other devices have written"

    /// What a trouble of a device is called, with how many there are, and the remedy.
    typealias Known = (text: @Sendable (_ device: String, _ count: UInt32) -> String, hint: String?)

    /// The findings for troubles of the report; `foreign` and `undecided` say more.
    static let known: [SyncReport.Kind: Known] = [
        .unequalKeys: ({ name, _ in "\(name) has given wrong keys to this device" }, misbehaviour),
        .refusedEntry: (
            { name, _ in "\(name) has signed a change of the circle that breaks a rule" },
            misbehaviour
        ),
        .claims: (
            { name, _ in "\(name) says that this device has written what it has not" },
            misbehaviour
        ),
        .cloudIsFull: (
            { name, _ in "\(name) names too many records that nobody has seen" }, misbehaviour
        ),
        .invalidMessage: (
            { name, _ in "\(name) has signed a message that breaks a rule" }, misbehaviour
        ),
        .tooManyLogs: (
            { name, _ in "a message of \(name) would bring more logs than a circle has" }, move
        ),
        .circleIsTooLarge: (
            { _, _ in "the circle has more items than can be passed on" }, move
        ),
        .rosterWasLost: (
            { _, n in "the store had lost \(n) changes of the circle; they were put back" }, nil
        ),
        .storeWasSetBack: (
            { _, _ in "the store was set back to an older state; what it lost is put back" }, nil
        ),
        .rosterIsTooLong: (
            { _, _ in "the store has more files among the changes of the circle than are read" },
            clean
        ),
        .logIsTooLong: (
            { name, _ in "the store has more files among the messages of \(name) than are read" },
            clean
        ),
        .partial: ({ name, n in "\(n) messages of \(name) are still arriving" }, nil),
        .unknown: (
            { name, _ in "the store withholds a change of the circle that \(name) names" }, look
        ),
        .withheld: (
            { _, n in "\(n) messages that another device has read are missing in the store" }, look
        ),
        .copied: (
            { _, _ in "this keychain was restored or copied" },
            "after a restore, nothing is to be done; remove a copy that you do not know"
        ),
        .unreadableRecord: (
            { _, _ in "an item cannot be read, so that this device cannot pass everything on" },
            "'valet doctor' names damaged items: store them again, or remove them"
        ),
        .tooLarge: (
            { _, n in "\(n) items are too large to travel, and stay on this device" },
            "a synchronizable item has at most \(SyncRecord.maximalContentByteCount) bytes with "
                + "its attributes"
        ),
        .noKeys: (
            { _, _ in "no device has given the newest keys to this one" },
            "unlock another device, and let it sync"
        ),
        .keysAreToBeChanged: (
            { _, _ in "a device has left: the next unlocked device changes the keys of the circle"
            },
            nil
        ),
        .twoHistories: (
            { name, _ in "\(name) writes from two places" }, "unless you know why: \(remove)"
        ),
        .replacedValuesAreFull: (
            { name, _ in "\(name) is about to replace or remove more values than can be kept" },
            "'valet sync accept' permits it; if it was not you, \(remove)"
        ),
        .newer: ({ name, _ in "\(name) uses a newer version" }, "update this program"),
        .clock: (
            { name, _ in "the clock of \(name) differs by more than ten minutes" },
            "set the clocks"
        ),
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
