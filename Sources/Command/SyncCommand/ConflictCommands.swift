// SPDX-License-Identifier: Apache-2.0

// The verbs about conflicts, values that are not shown: docs/SYNC.md §4.

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSync
internal import ValetSyncAgent

extension SyncCall {
    func listConflicts() throws(CLIError) {
        let known = try known()
        var rows: [JSON] = []
        for version in try syncing(conflicts()) {
            // Both are of the same item.
            let name = (version.content ?? version.shown).map(ItemName.init)
            let isReadable = version.content != nil
            let author = author(of: version, known)
            if values.has(ItemOptions.json) {
                rows.append(
                    .object([
                        "value": .string(version.text), "name": .text(name?.account),
                        "owner": .text(name?.owner.name), "kind": .text(name?.owner.kind.rawValue),
                        "group": .text(name?.group), "device": .text(author),
                        "milliseconds": .number(version.milliseconds),
                        "readable": .flag(isReadable),
                    ]))
            } else {
                try console.write(
                    "\(version.text)  \(name?.line ?? "-  -  -")  "
                        + "\(Escaping.printable(author ?? "-"))  \(dateText(version.milliseconds))"
                        + (isReadable ? "\n" : "  (cannot be read)\n"))
            }
        }
        if values.has(ItemOptions.json) { try console.write(.array(rows)) }
    }

    private func conflicts() throws(KeychainFailure) -> [Conflict] {
        try keychain.read("list conflicts") { (view) throws(KeychainFailure) in
            try view.conflicts()
        } ?? []
    }

    private func author(of version: Conflict, _ known: Known) -> String? {
        let devices = Set(known.notes.names.keys).union(known.roster.accepted.members.keys)
        return devices.first { $0.high == version.author }.map {
            known.notes.names[$0] ?? $0.text
        }
    }

    private func chosenValue() throws(CLIError) -> Conflict {
        let word = (values[SyncHelp.value] ?? "").lowercased()
        let found = try syncing(conflicts()).filter { $0.text.hasPrefix(word) }
        let hint = "'valet sync conflicts list' lists them"
        guard let version = found.first, !word.isEmpty else {
            throw CLIError(.notFound, "there is no value \(quoted(word))", hint: hint)
        }
        guard found.count == 1 else {
            throw CLIError.usage("\(found.count) values begin with \(quoted(word))", hint: hint)
        }
        return version
    }

    func showConflict() throws(CLIError) {
        _ = try requireCircle()
        try requireUnlocked()
        let version = try chosenValue()
        let content = try syncing(
            keychain.read("read a conflict") { (view) throws(KeychainFailure) in
                try view.content(of: version.id)
            })
        guard let content = content ?? nil else {
            throw CLIError(
                .damaged, "the value cannot be read", hint: "'valet sync status' says more")
        }
        guard let value = try syncing(content.itemValue) else {
            throw CLIError(.notFound, "the item had no value")
        }
        try value.value.withBytes { (bytes) throws(CLIError) in
            try console.writeSecret(bytes, isForced: values.has(ItemOptions.force))
        }
        let names = value.fields.list.map { quoted($0.name) }
        if !names.isEmpty {
            console.note("valet: its fields: \(names.joined(separator: ", "))")
        }
    }

    func takeConflict() throws(CLIError) {
        _ = try requireCircle()
        try requireUnlocked()
        let version = try chosenValue()
        try withLock { () throws(CLIError) in
            try update("take a value") { (update) throws(KeychainFailure) in
                try update.take(version.id)
            }
        }
        console.note("valet: this is the item's value now; the next sync sends it")
    }

    func dropConflicts() throws(CLIError) {
        let known = try known()
        try requireUnlocked()
        let dropped: [Conflict]
        if let word = values[SyncHelp.from] {
            let devices = Set(known.notes.names.keys)
                .union(known.roster.accepted.members.keys)
            let device = try device(word, among: devices.sorted(), known.notes.names)
            dropped = try syncing(conflicts()).filter { $0.author == device.high }
        } else {
            dropped = [try chosenValue()]
        }
        guard !dropped.isEmpty else {
            return console.note("valet: no conflict was written by that device")
        }
        let values = dropped.count == 1 ? "this value" : "\(dropped.count) values"
        try console.requireConsent(
            to: "Remove \(values) on all devices?", isGiven: options.isAgreed)
        try withLock { () throws(CLIError) in
            try update("drop values") { (update) throws(KeychainFailure) in
                for version in dropped { try update.drop(version.id) }
            }
        }
        console.note("valet: removed; the next sync tells the other devices")
    }
}

extension Conflict {
    /// What names the version on a command line: 16 hexadecimal digits.
    fileprivate var text: String {
        let digits = String(tag, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// When it was written, in milliseconds since 1970. Below them, `time` has 16 more bits.
    fileprivate var milliseconds: UInt64 { time >> 16 }
}
