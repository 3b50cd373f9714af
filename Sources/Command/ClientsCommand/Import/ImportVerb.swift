// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// `valet import`: reads a source, stores its items unless any is in conflict, compares the stored
/// items with the source, and shows the result for each item.
///
/// Everything is read and compared before the first write. Many items are stored in several
/// transactions, so that other programs can write in between. An import that ends early leaves
/// some of them; the next run finds these unchanged, and adds the others.
struct ImportVerb {
    private let values: ParsedValues
    private let context: Context
    private let scope: Scope
    private let logins: Logins
    private let policy: Policy?

    /// What happens to items that the keychain, or the source itself, has with another value.
    private enum Policy {
        case replace, skipExisting
    }

    /// What becomes of an item.
    enum Action: String, CaseIterable {
        case add, replace, keep, same, conflict
    }

    /// An item, and what becomes of it.
    private struct Step {
        let imported: ImportedItem
        var action: Action
        /// Whether the source itself has another value for it.
        var isOfSource = false
    }

    init(_ given: ParsedValues, _ context: Context) throws(CLIError) {
        values =
            try given.has(ImportHelp.forDesktop)
            ? DesktopItems.values(given, of: ImportHelp.forDesktop) : given
        self.context = context
        scope = try ItemOptions.scope(values)
        logins = try Logins(values, context)
        switch (values.has(ImportHelp.replace), values.has(ImportHelp.skipExisting)) {
        case (true, true): throw .usage("'--replace' and '--skip-existing' exclude each other")
        case (true, false): policy = .replace
        case (false, true): policy = .skipExisting
        case (false, false): policy = nil
        }
    }

    func run() throws(CLIError) -> ExitCode {
        let isDryRun = values.has(ImportHelp.dryRun)
        let found =
            values.has(ImportHelp.forDesktop)
            ? try DesktopItems.read(values, logins)
            : try ImportSource(values, scope, context).read()
        try found.checkCount()
        let steps = try plan(found.items)
        let conflictCount = steps.count { $0.action == .conflict }
        let isDone = !isDryRun && conflictCount == 0
        if isDone { try store(steps) }
        try context.console.report(ofEffect: isDone) { () throws(CLIError) in
            try show(steps, found.skipped, isDone: isDone)
        }
        if conflictCount > 0, !isDryRun {
            throw conflict(steps.filter { $0.action == .conflict })
        }
        return .success
    }

    /// What the source is called in messages.
    private var sourceTitle: String {
        switch values[ImportHelp.from] {
        case "pass"?, "gopass"?: "the store"
        case "secret-service"?: "the keyring"
        default: "the file"
        }
    }

    private func conflict(_ steps: [Step]) -> CLIError {
        if let first = steps.first, steps.allSatisfy(\.isOfSource) {
            let name = first.imported.description.name
            let others = steps.count > 1 ? ", and \(steps.count - 1) more such entries" : ""
            return CLIError(
                .alreadyThere,
                "\(sourceTitle) has two values for \(quoted(name))\(others): nothing was changed",
                hint: "'--replace' takes the last of them, '--skip-existing' the first")
        }
        return CLIError(
            .alreadyThere,
            "items exist already with another value or accessibility (\(steps.count)): "
                + "nothing was changed",
            hint: policy == nil
                ? "choose '--replace' or '--skip-existing'"
                : "remove those with another accessibility, choose one of several with the "
                    + "options that 'valet get' names, or use '--skip-existing'")
    }

    // MARK: Plan

    /// The key that distinguishes items of a keychain. All items go to one group.
    private struct Key: Hashable {
        let itemClass: ItemClass
        let attributes: ItemAttributes
        let isCloud: Bool

        init(_ item: ImportedItem, in scope: Scope) {
            itemClass = item.itemClass
            attributes = item.primaryKey
            isCloud = item.isCloud ?? scope.isCloud
        }
    }

    private func plan(_ items: [ImportedItem]) throws(CLIError) -> [Step] {
        var steps: [Step] = []
        var places: [Key: Int] = [:]
        for source in items {
            guard let item = try located(source) else {
                let isKept = policy == .skipExisting
                steps.append(Step(imported: source, action: isKept ? .keep : .conflict))
                continue
            }
            let key = Key(item, in: scope)
            let other = places[key]
            if let other, !steps[other].imported.whole.isEqual(to: item.whole) {
                // The source has two values for one item.
                switch policy {
                case nil:
                    steps.append(Step(imported: item, action: .conflict, isOfSource: true))
                case .skipExisting: steps.append(Step(imported: item, action: .keep))
                case .replace:
                    let isNew = steps[other].action == .add
                    let action = isNew ? Action.add : try action(for: item)
                    steps[other].action = .keep
                    places[key] = steps.count
                    steps.append(Step(imported: item, action: action))
                }
            } else if other != nil {
                steps.append(Step(imported: item, action: .same))
            } else {
                places[key] = steps.count
                steps.append(Step(imported: item, action: try action(for: item)))
            }
        }
        return steps
    }

    /// `item` with the service, accessibility and sharing of the stored secret of its name, if
    /// there is one: a name is one secret, whatever its accessibility, shared or not
    /// (docs/decisions/0065-one-name.md).
    ///
    /// - Returns: nil if the options exclude the stored secret, or match several.
    private func located(_ item: ImportedItem) throws(CLIError) -> ImportedItem? {
        guard item.accessibility == nil, item.isCloud == nil,
            let name = item.name(in: scope.service)
        else { return item }
        let found = try logins.services(having: name, among: scope.services)
        guard !found.isEmpty else { return item }
        let chosen = found.filter(scope.allows)
        guard let service = chosen.first, chosen.count == 1 else { return nil }
        var item = item
        item.attributes[.service] = .text(service.service)
        item.accessibility = service.protectionClass
        item.isCloud = service.isSynchronizable
        return item
    }

    private func action(for item: ImportedItem) throws(CLIError) -> Action {
        guard let stored = try logins.stored(item, in: scope) else { return .add }
        // Replacing a value keeps the stored accessibility, which may make it readable too early.
        let accessibility = item.accessibility ?? scope.accessibility
        guard stored.protectionClass == accessibility else {
            return policy == .skipExisting ? .keep : .conflict
        }
        // An item with access control is not compared: reading it would need the user.
        if stored.accessControl == nil {
            if let whole = try logins.whole(of: stored), item.isEqual(to: whole) { return .same }
        } else if item.fields != nil, policy == .replace {
            // An item with access control has no fields.
            return .conflict
        }
        return switch policy {
        case nil: .conflict
        case .replace: .replace
        case .skipExisting: .keep
        }
    }

    // MARK: Storing

    /// How much one transaction writes at most. It holds the writers' lock for some milliseconds.
    private static let batchItemCount = 200
    private static let batchByteCount = 1 << 20

    private func store(_ steps: [Step]) throws(CLIError) {
        let chosen = steps.filter { $0.action == .add || $0.action == .replace }
        let line = ProgressLine("storing", on: context.console)
        defer { line.end() }
        var (rest, storedCount) = (chosen[...], 0)
        // An end between two transactions is told.
        let signals = HeldSignals([SIGINT, SIGTERM, SIGHUP])
        while !rest.isEmpty {
            line.show(rest.startIndex, of: chosen.count)
            let batch = Self.batch(of: rest)
            rest = rest.dropFirst(batch.count)
            do {
                try store(batch)
                storedCount += batch.count
                try compare(batch)
            } catch {
                if signals.haveArrived { noteInterrupt(after: storedCount, of: chosen.count) }
                throw error.after(storing: storedCount, of: chosen.count, again: "import")
            }
            guard signals.haveArrived else { continue }
            line.end()
            noteInterrupt(after: storedCount, of: chosen.count)
            break
        }
        signals.release()
        // A process that survives the signal has not imported everything.
        guard rest.isEmpty else { throw CLIError(.failure, "the import was interrupted") }
    }

    private func noteInterrupt(after storedCount: Int, of count: Int) {
        let state =
            storedCount == count
            ? "all \(count) items are stored"
            : "\(storedCount) of \(count) items are stored; import again to store the others"
        context.console.note("valet: interrupted: \(state)")
    }

    /// The first steps, as many as one transaction writes.
    private static func batch(of steps: ArraySlice<Step>) -> ArraySlice<Step> {
        var byteCount = 0
        return steps.prefix(batchItemCount).prefix { step in
            let isFirst = byteCount == 0
            byteCount += step.imported.whole.sealedByteCount + 1
            return isFirst || byteCount <= batchByteCount
        }
    }

    private func store(_ batch: ArraySlice<Step>) throws(CLIError) {
        let items = batch.map {
            Addition(
                $0.imported.newItem(in: scope), value: $0.imported.value,
                fields: $0.imported.fields)
        }
        if batch.contains(where: { $0.action == .replace }) {
            try logins.set(items)
        } else {
            // Fails if another program has added one of them.
            try logins.add(items)
        }
    }

    /// Comparing takes no lock, so that other programs can write meanwhile. What cannot be read now
    /// is stored nevertheless.
    private func compare(_ batch: ArraySlice<Step>) throws(CLIError) {
        for step in batch {
            let isEqual: Bool
            do {
                isEqual = try isStored(step.imported)
            } catch {
                context.console.note(
                    "valet: warning: what was stored could not be compared: \(error.message)")
                return
            }
            guard !isEqual else { continue }
            throw CLIError(
                .failure, "\(quoted(step.imported.source)) differs from what was stored",
                hint: "another program may have changed it; import again to compare")
        }
    }

    private func isStored(_ item: ImportedItem) throws(CLIError) -> Bool {
        guard let stored = try logins.stored(item, in: scope) else { return false }
        return try logins.whole(of: stored).map(item.isEqual(to:)) ?? false
    }

    // MARK: Report

    /// - Parameter isDone: Whether the items are stored. Otherwise shows what would become of them.
    private func show(
        _ steps: [Step], _ skipped: [(source: String, reason: String)], isDone: Bool
    ) throws(CLIError) {
        if values.has(ItemOptions.json) {
            try context.console.write(json(steps, skipped, isDone: isDone))
        } else {
            var text = ""
            for step in steps {
                let (kind, owner, name) = step.imported.description
                let cells = [kind, owner, name].map(Escaping.printable).joined(separator: "  ")
                let source = Escaping.printable(step.imported.source)
                text += "\(step.action.rawValue)  \(cells)  <- \(source)\n"
            }
            for (source, reason) in skipped {
                text += "skip  \(Escaping.printable(source)): \(Escaping.printable(reason))\n"
            }
            try context.console.write(text)
            let counts = counts(steps, skipped.count).filter { $0.count > 0 }
            let list = counts.map { "\($0.count) \($0.name)" }.joined(separator: ", ")
            let verb = isDone ? "import" : "would import"
            context.console.note("valet: \(verb): \(list.isEmpty ? "nothing found" : list)")
        }
    }

    /// The word for each action in the summary, as in "2 added, 1 kept".
    static let countNames: [(action: Action, name: String)] = [
        (.add, "added"), (.replace, "replaced"), (.keep, "kept"), (.same, "unchanged"),
        (.conflict, "in conflict"),
    ]

    private func counts(_ steps: [Step], _ skipped: Int) -> [(name: String, count: Int)] {
        Self.countNames.map { action, name in
            (name, steps.count { $0.action == action })
        } + [("skipped", skipped)]
    }

    private func json(
        _ steps: [Step], _ skipped: [(source: String, reason: String)], isDone: Bool
    ) -> JSON {
        let isDryRun = values.has(ImportHelp.dryRun)
        let items = steps.map { step in
            let (kind, owner, name) = step.imported.description
            return JSON.object([
                "action": .string(step.action.rawValue), "source": .string(step.imported.source),
                "kind": .string(kind), "owner": .string(owner), "name": .string(name),
            ])
        }
        let left = skipped.map { (source, reason) in
            JSON.object(["source": .string(source), "reason": .string(reason)])
        }
        let counts = Dictionary(
            uniqueKeysWithValues: counts(steps, skipped.count).map { ($0.name, $0.count) })
        let isChange = isDone || isDryRun
        return .object([
            "added": .number(isChange ? counts["added"] : 0),
            "replaced": .number(isChange ? counts["replaced"] : 0),
            "kept": .number(counts["kept"]), "same": .number(counts["unchanged"]),
            "conflicts": .number(counts["in conflict"]), "dryRun": .flag(isDryRun),
            "items": .array(items), "skipped": .array(left),
        ])
    }
}

extension CLIError {
    /// The error of a call that had stored `storedCount` items before.
    ///
    /// - Parameter verb: The verb that stores the others.
    func after(storing storedCount: Int, of count: Int, again verb: String) -> CLIError {
        guard storedCount > 0 else { return self }
        let next = storedCount < count ? "\(verb) again to store the others" : nil
        let hints = [hint, next].compactMap(\.self).joined(separator: "; ")
        return CLIError(
            code, "\(storedCount) of \(count) items were stored; then \(message)",
            hint: hints.isEmpty ? nil : hints)
    }
}

extension ImportedItem {
    fileprivate func newItem(in scope: Scope) -> NewItem {
        NewItem(
            itemClass, attributes: attributes, accessGroup: scope.requester.group,
            isSynchronizable: isCloud ?? scope.isCloud,
            protectionClass: accessibility ?? scope.accessibility)
    }
}

extension Logins {
    /// The stored item with the primary key of an imported one; nil if no item has that key.
    ///
    /// - Throws: ``ExitCode/damaged`` if that item is damaged.
    fileprivate func stored(
        _ item: ImportedItem, in scope: Scope
    ) throws(CLIError) -> StoredItem? {
        let isCloud = item.isCloud ?? scope.isCloud
        let found = try alike(item.itemClass, item.primaryKey, isCloud: isCloud)
        return try requesting(found.items).first
    }
}
