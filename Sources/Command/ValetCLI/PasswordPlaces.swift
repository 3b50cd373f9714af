// SPDX-License-Identifier: Apache-2.0

// Storing passwords that no valet stored. As with secrets, one that exists gets the new value where
// it is, and moves if the command line says so.

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

extension ItemTarget {
    /// Stores `value`: in place of the password that matches, else as a new one. A password moves
    /// if the command line asks for another accessibility, or to share it or not.
    ///
    /// - Parameter isOnlyIfAbsent: Whether to fail with ``ExitCode/alreadyThere`` if there is one.
    func storePassword(
        _ value: SecretValue, _ details: SecretDetails, _ search: PasswordSearch,
        ifAbsent isOnlyIfAbsent: Bool
    ) throws(CLIError) -> StoredSecret {
        guard !isOnlyIfAbsent else {
            // Also fails for a damaged password, which an added one would set aside.
            let existing = try replaceable(search)
            guard let first = existing.first else {
                return try addPassword(value, details, search)
            }
            throw existing.count == 1 ? target(of: first.asNew).alreadyThere : alreadyThere
        }
        return try keychain.repeating(title) { () throws(CLIError) -> StoredSecret? in
            guard let (existing, moved) = try foreseenPassword(search) else {
                let new = try addition(of: value, details, search)
                try requesting(keychain.attempt(session.set([new])))
                return StoredSecret(item: new.item, old: nil)
            }
            return try set(existing, to: moved, (value, details), search)
        }
    }

    /// The password that ``storePassword(_:_:ifAbsent:)`` would change now, and how it would be
    /// kept then; nil if it would add one.
    ///
    /// - Throws: ``ExitCode/usage`` if there are several.
    func foreseenPassword(
        _ search: PasswordSearch
    ) throws(CLIError) -> (old: StoredItem, new: NewItem)? {
        let existing = try replaceable(search)
        guard let old = existing.first else { return nil }
        guard existing.count == 1 else { throw several(existing) }
        let (accessibility, isCloud) = scope.keeping(
            old.protectionClass, isCloud: old.isSynchronizable)
        var new = old.asNew
        (new.protectionClass, new.isSynchronizable) = (accessibility, isCloud)
        return (old, new)
    }

    /// The passwords that a new value may be for. A port and a protocol that the command line gives
    /// are those of the password, and what it leaves out may be anything. The label and how it is
    /// kept choose among several, and else are what the password gets.
    private func replaceable(_ search: PasswordSearch) throws(CLIError) -> [StoredItem] {
        // An account alone may be that of any program.
        guard search.namesPlace || search.attributes[.label] != nil else { return [] }
        let searches = [search] + [true, false].map { relaxed(search, keepingLabel: $0) }
        for search in searches {
            let found = try requesting(keychain.find(search.queries))
            let items = try requesting(search.found(in: found).items)
            if !items.isEmpty { return items }
        }
        return []
    }

    /// The target of a password that was found: its title has all parts of its name if the command
    /// line leaves some of them open that tell it from the usual one.
    func target(of item: NewItem) -> ItemTarget {
        guard case .password(let search) = form, search.leavesOpen(item.attributes) else {
            return self
        }
        return ItemTarget(
            scope: scope, key: key, form: .password(PasswordSearch(item)), keychain: keychain)
    }

    /// The search without what it sets in a password that exists.
    private func relaxed(
        _ search: PasswordSearch, keepingLabel keepsLabel: Bool
    ) -> PasswordSearch {
        var wanted = search
        let isLabelAlone = key == nil && search.attributes.allSatisfy { $0.key == .label }
        if !keepsLabel, !isLabelAlone, search.namesPlace {
            wanted.attributes[.label] = nil
            wanted.canonical?[.label] = nil
            if wanted.classes.count > 1 { wanted.classes = [.genericPassword] }
        }
        (wanted.protectionClass, wanted.synchronizable) = (nil, .any)
        return wanted
    }

    /// Returns nil if another program has removed the item, or changed one that moves.
    private func set(
        _ existing: StoredItem, to new: NewItem,
        _ contents: (value: SecretValue, details: SecretDetails), _ search: PasswordSearch
    ) throws(CLIError) -> StoredSecret? {
        let old = existing.asNew
        var changes = ItemChanges(attributes: contents.details.attributes)
        changes.attributes[.label] = search.attributes[.label]
        var query = ItemQuery(existing.reference)
        let isMoved = new != old
        if isMoved {
            // A new class would take its access control away.
            if let requirement = existing.accessControl?.requirement {
                throw CLIError(
                    .denied, "reading \(title) requires \(requirement): it cannot be moved",
                    hint: "without '--accessibility', '--cloud' and '--local' its value can be set")
            }
            (changes.protectionClass, changes.isSynchronizable) = (
                new.protectionClass, new.isSynchronizable
            )
            query.attributes[.modificationDate] = existing.attributes[.modificationDate]
        }
        let (update, wanted) = (changes, query)
        let count = try keychain.unlessChanged(
            session.update(
                wanted, update, value: contents.value, fields: contents.details.fields))
        return count.map { _ in StoredSecret(item: new, old: old) }
    }

    private func addition(
        of value: SecretValue, _ details: SecretDetails, _ search: PasswordSearch
    ) throws(CLIError) -> Addition {
        var item = try newPassword(search)
        item.attributes = item.attributes.overwritten(by: details.attributes)
        let fields = details.fields.isEmpty ? nil : EntryFields().applying(details.fields)
        return Addition(item, value: value, fields: fields)
    }

    private func addPassword(
        _ value: SecretValue, _ details: SecretDetails, _ search: PasswordSearch
    ) throws(CLIError) -> StoredSecret {
        let new = try addition(of: value, details, search)
        do {
            // One step of the keychain: looking first would miss what another program adds.
            _ = try keychain.attempt(session.perform(ItemTransfer(additions: [new])))
            return StoredSecret(item: new.item, old: nil)
        } catch {
            throw error.code == .duplicateItem ? alreadyThere : CLIError(error)
        }
    }

    /// The password to add.
    ///
    /// - Throws: ``ExitCode/usage`` without an account, or without service and server.
    private func newPassword(_ search: PasswordSearch) throws(CLIError) -> NewItem {
        var attributes = search.canonical ?? search.attributes
        attributes[.port] = search.attributes[.port] ?? attributes[.port]
        let place: Attribute =
            search.classes == [.internetPassword] ? .server : .service
        guard attributes[.account] != nil, attributes[place] != nil, search.itemID == nil else {
            throw .usage(
                "a new password needs KEY, its account, and '--service', '--server' or "
                    + "'--keychain-swift'")
        }
        // As git's helper stores it: then that helper changes this item, and adds none.
        if place == .server { attributes[.authenticationType] = LoginPlace.authenticationType }
        return NewItem(
            place == .server ? .internetPassword : .genericPassword, attributes: attributes,
            accessGroup: search.group, isSynchronizable: scope.isCloud,
            protectionClass: scope.accessibility)
    }
}
