// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

/// `valet watch`.
enum WatchCommand {
    private static let everyone = OptionDeclaration(
        name: "all", letter: "a", help: "watch the secrets of every application")
    private static let time = OptionDeclaration(
        name: "for", valueName: "DURATION", help: "end after that time: 90s, 15m, 8h, 2d")
    private static let count = OptionDeclaration(
        name: "count", valueName: "N", help: "end after N changes", defaultValue: "0")

    static let declaration = CommandDeclaration(
        name: "watch", abstract: "write a line for each change of secrets or the lock state",
        synonyms: ["monitor", "tail"],
        discussion: [
            "Writes the state of the keychain, then a line for each change, whichever program "
                + "made it, until a signal, --for or --count ends it: a time in UTC, and a state "
                + "(absent, incomplete, keyUnavailable, noPasscode, beforeFirstUnlock, unlocked, "
                + "locked), or 'added', 'changed' or 'removed' with a name and its owner. Never a "
                + "value.",
            "Watches the secrets of the application, or the part of them that the options choose; "
                + "--all those of every application. Changes in quick succession may become one. "
                + "What changes while the keychain is locked is told once it is unlocked.",
            "Asks nobody, keeps no writer waiting, and is no use of the keychain that would "
                + "postpone an automatic lock. It sees what other programs unlock, where they "
                + "share opened keys: 'valet status' says so.",
        ],
        options: [everyone, time, count] + ItemOptions.all,
        schema: [
            ("time", "ISO 8601, when the change was seen; one object a line"),
            ("event", "state, added, changed or removed"),
            ("state", "the state; only with the event state"),
            ("name", "the key; null for an item that was never readable"),
            ("owner", "the valet's identifier, the service or server"),
            ("kind", ItemOwner.Kind.allCases.map(\.rawValue).joined(separator: ", ")),
            ("group", "the access group: the application, or a group that applications share"),
        ],
        exitCodes: [(.success, "the time is over, or there were N changes")],
        examples: [
            ("valet watch", "Until Ctrl-C."),
            ("valet watch --id certificates --count 1", "Ends after the first change."),
            ("valet watch --all --json | jq -r .event", "For scripts."),
        ])

    static func run(_ values: ParsedValues, in context: Context) throws(CLIError) -> ExitCode {
        let scope = try ItemOptions.scope(values)
        let narrow = ItemOptions.all.first {
            $0 != ItemOptions.json && (values.isGiven($0) || values.has($0))
        }
        if values.has(everyone), let narrow {
            throw .usage("'--all' and '\(narrow.spelling)' exclude each other")
        }
        let session = try requesting(context.session(of: scope.requester))
        let group =
            scope.requester.group ?? AccessGroup(session.caller.applicationIdentifier)
        let isOne = values.isGiven(ItemOptions.identifier)
        let isEverything = values.has(everyone)
        var watcher = Watcher(
            store: session.store, context: context, asJSON: values.has(ItemOptions.json)
        ) { item in
            let isChosen =
                isEverything || (item.accessGroup == group && scope.chooses(item, narrow: isOne))
            let noted = ListedItem(item)
            return isChosen && !noted.isCanary ? noted : nil
        }
        try watcher.run(
            count: try values.number(count, in: 0...(.max)),
            until: try DurationText.value(of: time, in: values).map { Deadline(after: $0) }
                ?? .never)
        return .success
    }
}

private struct Watcher {
    private let store: ItemStore
    private let context: Context
    private let isJSON: Bool
    private let note: (StoredItem) -> ListedItem?

    private var state: LockState?
    private var snapshot = ItemSnapshot<ListedItem>()
    /// The time until the keychain locks by itself.
    private var remaining: Duration?

    init(
        store: ItemStore, context: Context, asJSON isJSON: Bool,
        _ note: @escaping (StoredItem) -> ListedItem?
    ) {
        (self.store, self.context, self.isJSON, self.note) = (store, context, isJSON, note)
    }

    /// - Parameter count: After how many changes to end; 0 for never.
    mutating func run(count: Int, until end: Deadline) throws(CLIError) {
        var watch = try requesting(ItemWatch(store))
        var left = count
        while true {
            watch.beginLook()
            let isFirst = state == nil
            for line in try look() {
                try context.console.write(line + "\n")
                left -= isFirst ? 0 : 1
                if count > 0, left == 0 { return }
            }
            guard watch.wait(atMost: remaining, until: end) else { return }
        }
    }

    /// The lines for what has changed.
    private mutating func look() throws(CLIError) -> [String] {
        var lines: [String] = []
        do {
            let found = try store.keychain.availability()
            remaining = found.remaining
            if found.state != state { lines.append(line(found.state)) }
            state = found.state
            guard ![.incomplete, .keyUnavailable].contains(found.state) else { return lines }
            lines += try store.changes(since: &snapshot, noting: note).map(line)
        } catch {
            // The keychain is busy, or not unlocked since the start: the next look reports the
            // changes.
            guard [.timedOut, .locked].contains(error.code) else { throw CLIError(error) }
        }
        return lines
    }

    private func line(_ state: LockState) -> String {
        guard isJSON else { return stamp + "  " + state.rawValue }
        let members: JSON = .object([
            "time": .string(stamp), "event": .string("state"), "state": .string(state.rawValue),
        ])
        return members.encoded
    }

    private func line(_ change: ItemChange<ListedItem>) -> String {
        let (event, item): (String, ListedItem?) =
            switch change {
            case .added(let item): ("added", item)
            case .changed(let item): ("changed", item)
            case .removed(let item): ("removed", item)
            }
        guard isJSON else {
            let name = item.map { "\(quoted($0.name)) of \(quoted($0.owner.name))" }
            let group = item.map { " in group " + quoted($0.group) } ?? ""
            return stamp + "  " + event.padded(to: 9) + (name ?? "a locked item") + group
        }
        let members: JSON = .object([
            "time": .string(stamp), "event": .string(event), "name": .text(item?.name),
            "owner": .text(item?.owner.name), "kind": .text(item?.owner.kind.rawValue),
            "group": .text(item?.group),
        ])
        return members.encoded
    }

    private var stamp: String {
        let secondsTo2001 = 978_307_200.0
        return Timestamp.text(
            secondsSince2001: Double(context.clock()) / 1_000_000_000 - secondsTo2001) ?? ""
    }
}
