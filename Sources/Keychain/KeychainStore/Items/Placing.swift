// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSealing

// Storing under a key that several services may have: to the command, the valets of one
// application and identifier are one place, whatever their accessibility.

/// A value to store, and how its place is chosen.
package struct Placement: Sendable {
    /// What to do.
    package enum Choice: Sendable {
        /// Change nothing.
        case nothing
        /// Add the item to a service, or set the value of the item that is there.
        case set(PasswordService)
        /// Set the value of the item of one service, and move the item to another service.
        case move(from: PasswordService, to: PasswordService)
    }

    package let account: String
    package let value: SecretValue
    /// What else of the item to set: a label, a comment.
    package var attributes: ItemAttributes = [:]
    /// Changes of its fields; the others stay.
    package var fields: [FieldChange] = []
    /// The services that are searched.
    package let services: [PasswordService]
    /// Chooses, inside the transaction. It gets the services that have an item of the account,
    /// damaged or not.
    package let choose: @Sendable ([PasswordService]) -> Choice

    package init(
        _ account: String, _ value: SecretValue, among services: [PasswordService],
        _ choose: @escaping @Sendable ([PasswordService]) -> Choice
    ) {
        self.account = account
        self.value = value
        self.services = services
        self.choose = choose
    }
}

extension ItemStore {
    /// Searches all services of `placement`, lets `placement` choose, and does what it chooses: all
    /// in one transaction. Needs no proof, because no value is given out.
    ///
    /// An item that is moved keeps its attributes and its persistent reference.
    /// - Returns: The services that had an item, and the choice.
    /// - Throws: As ``set(_:for:)``; `locked` if an item to move is locked;
    ///   `interactionNotAllowed` if it has an access control.
    package func place(
        _ placement: Placement, for caller: Caller
    ) throws(KeychainFailure) -> (found: [PasswordService], choice: Placement.Choice) {
        let operation = "set an item"
        let result = try shareWrite(
            operation, creating: true, byteCount: placement.value.byteCount
        ) { (rows) throws(KeychainFailure) in
            try ItemTransaction(rows, caller).perform(placement)
        }
        guard let result else { throw KeychainFailure(.internalFault, during: operation) }
        return result
    }
}

extension ItemTransaction {
    fileprivate func perform(
        _ placement: Placement
    ) throws(KeychainFailure) -> (found: [PasswordService], choice: Placement.Choice) {
        try check(byteCount: placement.value.byteCount)
        var found: [PasswordService] = []
        for service in placement.services
        where try row(of: placement.account, in: service) != nil {
            found.append(service)
        }
        let choice = placement.choose(found)
        switch choice {
        case .nothing: break
        case .set(let service): try set(placement, in: service)
        case .move(let old, let new): try move(placement, from: old, to: new)
        }
        return (found, choice)
    }

    private func set(
        _ placement: Placement, in service: PasswordService
    ) throws(KeychainFailure) {
        guard !placement.attributes.isEmpty || !placement.fields.isEmpty,
            case .row(let row)? = try row(of: placement.account, in: service),
            !row.header.flags.contains(.tombstone), let match = try rows.openIfSound(row)
        else { return try set(addition(placement, service)) }
        try update(
            match, ItemChanges(attributes: placement.attributes),
            value: newValue(of: match, placement.value, placement.fields))
    }

    /// A new item.
    private func addition(_ placement: Placement, _ service: PasswordService) -> Addition {
        var item = service.item(placement.account)
        item.attributes = item.attributes.overwritten(by: placement.attributes)
        let fields = placement.fields.isEmpty ? nil : EntryFields().applying(placement.fields)
        return Addition(item, value: placement.value, fields: fields)
    }

    /// The first row of an item in the groups that the caller may write, damaged or not; nil if
    /// there is none, if only tombstones are there, or if the items have another protection class.
    private func row(of account: String, in service: PasswordService) throws(KeychainFailure)
        -> FoundRow?
    {
        let item = service.item(account)
        for group in try caller.groups(changing: service.accessGroup, during: operation) {
            let existing = try rows.row(
                item.itemClass, item.attributes, group: group,
                isSynchronizable: service.isSynchronizable)
            guard case .row(let row)? = existing else {
                if existing != nil { return existing }
                continue
            }
            let header = row.header
            let isAlike =
                !header.flags.contains(.tombstone)
                && header.protectionClass == service.protectionClass
            if isAlike || state.isForged(row) { return existing }
        }
        return nil
    }

    private func move(
        _ placement: Placement, from old: PasswordService, to new: PasswordService
    ) throws(KeychainFailure) {
        try check(new.protectionClass)
        let existing = try row(of: placement.account, in: old)
        guard case .row(let row)? = existing, let match = try rows.openIfSound(row) else {
            // No part of a damaged item can be used: it is set aside.
            _ = try rows.makeWay(over: existing)
            return try set(addition(placement, new))
        }
        // A new class would take its access control away.
        guard match.content.attributes[.accessControl] == nil else {
            throw KeychainFailure(
                .interactionNotAllowed, during: operation,
                message: "the item requires the user or a password, and cannot move",
                hint: "without another accessibility, and neither shared nor unshared, its value "
                    + "can be set; the program that stored it can move it")
        }
        let changes = ItemChanges(
            attributes: placement.attributes.overwritten(by: [.service: .text(new.service)]),
            isSynchronizable: new.isSynchronizable, protectionClass: new.protectionClass)
        try update(
            match, changes, value: newValue(of: match, placement.value, placement.fields))
    }
}
