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
            SyncFinding(trouble, by: trouble.device.map(known.text), known)
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
    private static let clean =
        "find out who else writes in the store; files that no device has written may be deleted"
    private static let look =
        "check that the store shows everything that other devices have written"

    /// The finding for a trouble of the report.
    fileprivate init(_ trouble: SyncReport.Trouble, by author: String?, _ known: SyncCall.Known) {
        let name = author ?? "a device"
        switch trouble.kind {
        case .foreign: self.init(foreign: trouble, author, known.report)
        case .unequalKeys, .refusedEntry, .claims, .cloudIsFull, .invalidMessage:
            self.init(misbehaviour: trouble.kind, by: name)
        case .tooManyLogs, .circleIsTooLarge:
            self.init(limit: trouble.kind, of: name)
        case .rosterWasLost, .storeWasSetBack, .partial, .unknown, .withheld,
            .rosterIsTooLong, .logIsTooLong:
            self.init(store: trouble.kind, trouble.count, name)
        case .copied, .unreadableRecord, .tooLarge, .noKeys, .keysAreToBeChanged:
            self.init(here: trouble.kind, trouble.count)
        case .twoHistories:
            self.init("\(name) writes from two places", hint: "unless you know why: \(Self.remove)")
        case .replacedValuesAreFull:
            self.init(
                "\(name) is about to replace or remove more values than can be kept",
                hint: "'valet sync accept' permits it; if it was not you, \(Self.remove)")
        case .newer: self.init("\(name) uses a newer version", hint: "update this program")
        case .clock:
            self.init(
                "the clock of \(name) differs by more than ten minutes", hint: "set the clocks")
        case .undecided: self.init(undecidedIn: known)
        }
    }

    /// A member that breaks a rule.
    private init(misbehaviour kind: SyncReport.Kind, by name: String) {
        let text =
            switch kind {
            case .unequalKeys: "\(name) has given wrong keys to this device"
            case .refusedEntry: "\(name) has signed a change of the circle that breaks a rule"
            case .claims: "\(name) says that this device has written what it has not"
            case .cloudIsFull: "\(name) names too many records that nobody has seen"
            default: "\(name) has signed a message that breaks a rule"
            }
        self.init(text, hint: "if it is yours, let it leave and join again; else \(Self.remove)")
    }

    private init(limit kind: SyncReport.Kind, of name: String) {
        let text =
            switch kind {
            case .tooManyLogs: "a message of \(name) would bring more logs than a circle has"
            default: "the circle has more items than can be passed on"
            }
        self.init(text, hint: "'valet sync move' founds a new circle with the same items")
    }

    /// Something that the store shows, or does not show.
    private init(store kind: SyncReport.Kind, _ count: UInt32, _ name: String) {
        switch kind {
        case .rosterWasLost:
            self.init("the store had lost \(count) changes of the circle; they were put back")
        case .storeWasSetBack:
            self.init("the store was set back to an older state; what it lost is put back")
        case .rosterIsTooLong:
            self.init(
                "the store has more files among the changes of the circle than are read",
                hint: Self.clean)
        case .logIsTooLong:
            self.init(
                "the store has more files among the messages of \(name) than are read",
                hint: Self.clean)
        case .partial: self.init("\(count) messages of \(name) are still arriving")
        case .unknown:
            self.init(
                "the store withholds a change of the circle that \(name) names", hint: Self.look)
        default:
            self.init(
                "\(count) messages that another device has read are missing in the store",
                hint: Self.look)
        }
    }

    /// Files that no member has signed: the store has them, and no device is blamed for them.
    private init(foreign trouble: SyncReport.Trouble, _ name: String?, _ report: SyncReport) {
        let place = name.map { "among the messages of \($0)" } ?? "among the changes of the circle"
        let files = trouble.count == 1 ? "1 file is" : "\(trouble.count) files are"
        let names = report.foreignNames.sorted().map(quoted).joined(separator: ", ")
        self.init(
            "in the store, \(place), \(files) signed by no device",
            hint: names.isEmpty
                ? Self.clean : "another program may have left \(names): delete what is not needed")
    }

    /// Something about this device.
    private init(here kind: SyncReport.Kind, _ count: UInt32) {
        switch kind {
        case .copied:
            self.init(
                "this keychain was restored or copied",
                hint: "after a restore, nothing is to be done; remove a copy that you do not know")
        case .unreadableRecord:
            self.init(
                "an item cannot be read, so that this device cannot pass everything on",
                hint: "'valet doctor' names damaged items: store them again, or remove them")
        case .tooLarge:
            self.init(
                "\(count) items are too large to travel, and stay on this device",
                hint: "a synchronizable item has at most \(SyncRecord.maximalContentByteCount) "
                    + "bytes with its attributes")
        case .noKeys:
            self.init(
                "no device has given the newest keys to this one",
                hint: "unlock another device, and let it sync")
        default:
            self.init(
                "a device has left: the next unlocked device changes the keys of the circle")
        }
    }

    private init(undecidedIn known: SyncCall.Known) {
        // Names may be alike, and one of these devices may have chosen its own.
        let names = known.roster.alarmAuthors.sorted().map { id in
            "\(known.text(of: id)) (\(id.text.prefix(8)))"
        }
        self.init(
            "these devices remove each other: \(names.joined(separator: ", "))",
            hint: "'valet sync distrust DEVICE' names the one that is not yours")
    }
}
