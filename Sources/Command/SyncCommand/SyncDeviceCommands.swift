// SPDX-License-Identifier: Apache-2.0

// The verbs about the devices of a circle: docs/SYNC.md §6.

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSync
internal import ValetSyncAgent

extension SyncCall {
    /// The facts about the circle in the keychain, without its store.
    struct Known {
        let notes: Notes
        let roster: Roster
        let report: SyncReport
    }

    func known() throws(CLIError) -> Known {
        let notes = try requireCircle()
        let bytes = try syncing(keychain.notes(.roster, .report, during: "look at the circle"))
        do {
            return Known(
                notes: notes, roster: try Roster(parsing: bytes?[0] ?? [], of: notes.circle.circle),
                report: SyncReport(lastOf: bytes?[1] ?? []))
        } catch {
            throw CLIError(.failure, "sync failed: \(error)")
        }
    }

    /// The device that a word names: by its name, or by the start of its id.
    func device(
        _ word: String, among devices: [DeviceID], _ names: DeviceNames
    ) throws(CLIError) -> DeviceID {
        let named = devices.filter { names[$0] == word }
        let begun = devices.filter { $0.text.hasPrefix(word.lowercased()) }
        let found = named.isEmpty ? begun : named
        guard let device = found.first, !word.isEmpty else {
            throw CLIError(
                .notFound, "there is no device \(quoted(word))",
                hint: "'valet sync devices list' lists the devices")
        }
        guard found.count == 1 else {
            throw .usage(
                "\(found.count) devices are called \(quoted(word))",
                hint: "use the start of the id that 'valet sync devices list' shows")
        }
        return device
    }

    /// The device of the argument among the members.
    func chosenDevice(_ known: Known) throws(CLIError) -> DeviceID {
        try device(
            values[SyncOptions.device] ?? "", among: known.roster.accepted.members.keys.sorted(),
            known.notes.names)
    }

    func listDevices() throws(CLIError) {
        let known = try known()
        let members = known.roster.accepted.members.values.sorted { $0.number < $1.number }
        var rows: [JSON] = []
        for seat in members {
            let id = seat.member.id
            let (name, isOwn) = (known.notes.names[id], id == known.notes.circle.device)
            let seen = known.report.devices[id]?.lastSeen
            if values.has(ItemOptions.json) {
                rows.append(
                    .object([
                        "id": .string(id.text), "name": .text(name), "isThisDevice": .flag(isOwn),
                        "kind": .string(seat.member.kind == .device ? "device" : "recovery"),
                        "milliseconds": .number(seen),
                    ]))
            } else {
                let about =
                    if isOwn {
                        "this device"
                    } else if seat.member.kind == .recovery {
                        "on paper"
                    } else {
                        seen.map { "last message \(dateText($0))" } ?? "no message yet"
                    }
                try console.write(
                    "\(id.text.prefix(8))  \(Escaping.printable(name ?? "-"))  (\(about))\n")
            }
        }
        if values.has(ItemOptions.json) { return try console.write(.array(rows)) }
        if let nameless = members.first(where: { known.notes.names[$0.member.id] == nil }) {
            console.hint(
                "'valet sync devices rename \(nameless.member.id.text.prefix(8)) NAME' names a "
                    + "device here")
        }
    }

    func renameDevice() throws(CLIError) {
        let known = try known()
        let device = try chosenDevice(known)
        let name = values[SyncHelp.newName] ?? ""
        guard !name.isEmpty, name.utf8.count <= InvitationRequest.maximalNameByteCount else {
            throw CLIError.usage("a name has 1 to \(InvitationRequest.maximalNameByteCount) bytes")
        }
        try withLock { () throws(CLIError) in
            try update("name a device") { (update) throws(KeychainFailure) in
                try update.setName(name, of: device)
            }
        }
    }

    func removeDevice() throws(CLIError) {
        let known = try known()
        let device = try chosenDevice(known)
        guard device != known.notes.circle.device else {
            throw CLIError.usage(
                "this device cannot remove itself", hint: "'valet sync leave' takes it out")
        }
        try requireUnlocked()
        let name = known.text(of: device)
        try console.requireConsent(to: "Remove \(name) from the circle?", isGiven: options.isAgreed)
        try withSession { (session, _) throws(CLIError) in
            let hasBase = try syncing(session.remove([device], progress()))
            console.note("valet: \(name) is removed: it reads nothing that is written from now on")
            if !hasBase {
                console.note(
                    "valet: warning: what it wrote last may reach other devices later: 'valet sync "
                        + "status' says what keeps this device from passing it on")
            }
            console.afterEffect { () throws(CLIError) in try listExposedItems() }
        }
    }

    private func listExposedItems() throws(CLIError) {
        let (names, unreadable) = try update("list the items of the circle") {
            (update) throws(KeychainFailure) in
            var (names, unreadable) = ([String](), 0)
            for (_, shown) in update.replica?.shownItems ?? [:] {
                guard case .dot(let dot) = shown.source else { continue }
                guard let record = try update.record(.dot(dot), in: shown.scope),
                    let content = try? RecordContent(parsing: record.content, in: shown.scope)
                else {
                    unreadable += 1
                    continue
                }
                names.append(ItemName(content).line)
            }
            return (names.sorted(), unreadable)
        }
        if unreadable > 0 {
            console.note(
                "valet: warning: items that cannot be read are not listed: \(unreadable)")
        }
        guard !names.isEmpty else { return }
        console.note(
            "valet: it keeps what it has. If somebody else has it now, change the secrets of:")
        for name in names { try console.write(name + "\n") }
    }

    func acceptDevice() throws(CLIError) {
        let known = try known()
        let device = try chosenDevice(known)
        try console.requireConsent(
            to: "Let this device replace more values than can be kept? The oldest replaced values "
                + "are dropped.", isGiven: options.isAgreed)
        try withSession { (session, _) throws(CLIError) in try syncing(session.accept(device)) }
        console.note("valet: its changes are taken in by the next 'valet sync once' or 'run'")
    }

    func distrustDevice() throws(CLIError) {
        let known = try known()
        let authors = known.roster.alarmAuthors.sorted()
        guard !authors.isEmpty else {
            throw CLIError(
                .failure, "there is nothing to choose: no devices remove each other",
                hint: "'valet sync devices remove' removes a device")
        }
        let device = try device(values[SyncOptions.device] ?? "", among: authors, known.notes.names)
        let name = known.text(of: device)
        try console.requireConsent(
            to: "Distrust \(name) on this device for good?", isGiven: options.isAgreed)
        let isDone = try withSession { (session, _) throws(CLIError) in
            try syncing(session.distrust(device))
        }
        guard isDone else { throw CLIError(.failure, "there is nothing to choose any more") }
        console.note("valet: \(name) counts as removed")
    }
}

/// How an item is named to a person: as `valet list` does.
struct ItemName {
    let account: String?
    let owner: ItemOwner
    let group: String

    init(_ content: RecordContent) {
        func text(_ attribute: Attribute) -> String? {
            switch content.attributes[attribute.tag] {
            case .text(let text): text
            case .bytes(let bytes): String(utf8: bytes) ?? "0x" + Hexadecimal.text(bytes)
            default: nil
            }
        }
        account = text(.account) ?? text(.label)
        group = text(.accessGroup) ?? ""
        owner =
            switch content.itemClass {
            case .genericPassword:
                ItemOwner(service: text(.service) ?? "", group: AccessGroup(group))
            case .internetPassword: ItemOwner(kind: .internet, name: text(.server) ?? "")
            }
    }

    /// One line, safe to show: the name, the owner, and the application or group.
    var line: String {
        [account ?? "", owner.name, group].map { $0.isEmpty ? "-" : Escaping.printable($0) }
            .joined(separator: "  ")
    }
}

extension SyncCall.Known {
    func text(of device: DeviceID) -> String {
        let start = String(device.text.prefix(8))
        guard let name = notes.names[device] else { return "device \(start)" }
        return quoted(name)
    }
}

/// ISO 8601 in UTC of milliseconds since 1970.
func dateText(_ milliseconds: UInt64) -> String {
    // Timestamps count seconds since 2001.
    Timestamp.text(secondsSince2001: Double(milliseconds) / 1000 - 978_307_200) ?? "never"
}
