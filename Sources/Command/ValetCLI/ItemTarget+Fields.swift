// SPDX-License-Identifier: Apache-2.0

// Reads and changes the fields of a secret.

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

extension ItemTarget {
    /// The item with its value and its fields.
    ///
    /// - Throws: Like ``value()``.
    func whole() throws(CLIError) -> StoredItem {
        let item = try details()
        // Most items have none: their value stays closed, and nobody is asked.
        guard item.attributes[.fieldCount] != nil else { return item }
        let found = try requesting(
            keychain.attempt(session.copy(ItemQuery(item.reference), [.attributes, .value])))
        guard let whole = try requesting(found.items).first else {
            throw error(KeychainFailure(.itemNotFound, during: "read the item"))
        }
        return whole
    }

    /// The value, or a field of the secret.
    ///
    /// - Parameter field: nil for the value.
    /// - Throws: Like ``value()``; ``ExitCode/notFound`` if the secret has no such field.
    func value(of field: FieldName?) throws(CLIError) -> SecretValue {
        guard let field else { return try value() }
        let item = try whole()
        return try self.value(of: field, in: item, item.fields)
    }

    /// A field of an item that was read with its fields.
    ///
    /// - Throws: ``ExitCode/notFound``.
    func value(
        of field: FieldName, in item: StoredItem, _ fields: EntryFields
    ) throws(CLIError) -> SecretValue {
        if let value = item.field(field, among: fields) { return value }
        let names = item.fieldNames(with: fields)
        let list = names.map(quoted).joined(separator: ", ")
        throw CLIError(
            .notFound, "\(title) has no field \(quoted(field.text))",
            hint: names.isEmpty
                ? "'valet set KEY --field NAME' adds one" : "its fields are \(list)")
    }

    /// Whether the secret has a field.
    ///
    /// - Throws: Like ``value()``.
    func has(_ field: FieldName) throws(CLIError) -> Bool {
        let item = try whole()
        return item.field(field, among: item.fields) != nil
    }

    /// Adds a field, or gives it another value.
    ///
    /// - Parameter isPublic: Whether `show` writes it; nil to leave that as it is.
    /// - Throws: ``ExitCode/usage`` for a field that is a part of the item's name.
    func set(
        _ field: FieldName, to value: SecretValue, isPublic: Bool?
    ) throws(CLIError) {
        let item = try whole()
        let change = try change(of: field, to: value, isPublic: isPublic, in: item)
        try perform(change, on: item)
    }

    /// What sets a field of an item.
    ///
    /// - Throws: As ``set(_:to:isPublic:)``.
    func change(
        of field: FieldName, to value: SecretValue, isPublic: Bool?, in item: StoredItem
    ) throws(CLIError) -> (item: ItemChanges, fields: [FieldChange]) {
        try checkIsNoName(field, of: item)
        if field == .label {
            guard let text = value.publicText else { throw .usage("a label is text in UTF-8") }
            return (ItemChanges(attributes: [.label: .text(text)]), [])
        }
        // The field that is read under this name.
        let present = item.fields.field(field)
        let isSecret = isPublic.map { !$0 } ?? present?.isSecret ?? !field.isPublic
        guard let new = EntryField(present?.name ?? field.text, isSecret: isSecret, value) else {
            throw .usage("\(quoted(field.text)) cannot be the name of a field")
        }
        return (ItemChanges(), [.set(new)])
    }

    /// Removes a field. Returns whether there was one.
    func remove(_ field: FieldName) throws(CLIError) -> Bool {
        let item = try whole()
        try checkIsNoName(field, of: item)
        var changes = ItemChanges()
        var fields: [FieldChange] = []
        if let present = item.fields.field(field) { fields = [.remove(present.name)] }
        let attribute: Attribute? = field == .label ? .label : field == .note ? .comment : nil
        if let attribute, item.attributes[attribute]?.asText?.isEmpty == false {
            changes.attributes[attribute] = .text("")
        }
        guard !fields.isEmpty || !changes.attributes.isEmpty else { return false }
        try perform((changes, fields), on: item)
        return true
    }

    private func perform(
        _ change: (item: ItemChanges, fields: [FieldChange]), on item: StoredItem
    ) throws(CLIError) {
        do {
            _ = try keychain.attempt(
                session.update(ItemQuery(item.reference), change.item, fields: change.fields))
        } catch {
            throw self.error(error)
        }
    }

    private func checkIsNoName(_ field: FieldName, of item: StoredItem) throws(CLIError) {
        guard !item.owner.isValet, item.fields.field(field) == nil,
            field == .username || field == .url && item.itemClass == .internetPassword
        else { return }
        throw .usage(
            "\(quoted(field.text)) is part of the name of \(title)",
            hint: "'valet rename' gives a login another account; one for another server is stored "
                + "by 'valet set --server'")
    }
}
