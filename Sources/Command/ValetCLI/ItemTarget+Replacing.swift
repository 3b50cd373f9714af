// SPDX-License-Identifier: Apache-2.0

// Replaces values: only deliberately, and only the value that was seen. `generate`, `otp` and
// `edit` store this way.

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

extension ItemTarget {
    /// Stores what `make` returns. A secret that exists stays, unless `isAgreed`, or a person at a
    /// terminal agrees.
    ///
    /// - Parameter replacement: The words for the new value, in the question and in the hint.
    /// - Throws: ``ExitCode/alreadyThere`` if there is one and nobody can be asked;
    ///   ``ExitCode/denied`` for a no.
    func storeDeliberately(
        isAgreed: Bool, by replacement: String, _ console: any Console,
        _ make: () throws(CLIError) -> SecretValue
    ) throws(CLIError) -> SecretValue {
        let refusal = CLIError(
            .alreadyThere, "\(title) exists in \(place) already, and stays",
            hint: "'--force' replaces it by \(replacement)")
        var replaces = isAgreed
        if !replaces, try exists() {
            guard console.obstacleToAsking == nil else { throw refusal }
            try console.requireConsent(
                to: "Replace \(title) in \(place) by \(replacement)?", isGiven: false)
            replaces = true
        }
        let value = try make()
        do {
            // Checks and stores in one step: another program may just have stored a secret.
            noteChange(try store(value, ifAbsent: !replaces), console)
        } catch {
            throw error.code == .alreadyThere ? refusal : error
        }
        return value
    }

    /// Like ``storeDeliberately(isAgreed:by:_:_:)``, for a field of a secret that exists.
    func storeDeliberately(
        in field: FieldName, isAgreed: Bool, by replacement: String, _ console: any Console,
        _ make: () throws(CLIError) -> SecretValue
    ) throws(CLIError) -> SecretValue {
        if !isAgreed, try has(field) {
            guard console.obstacleToAsking == nil else {
                throw CLIError(
                    .alreadyThere, "\(title) has a field \(quoted(field.text)) already: it stays",
                    hint: "'--force' replaces it by \(replacement)")
            }
            try console.requireConsent(
                to: "Replace the field \(quoted(field.text)) of \(title) by \(replacement)?",
                isGiven: false)
        }
        let value = try make()
        try set(field, to: value, isPublic: false)
        return value
    }

    /// The item with its value; nil if there is none. For ``replace(_:_:with:keepingHistory:)``.
    func current() throws(CLIError) -> (item: StoredItem, value: SecretValue)? {
        guard let item = try detailsIfAny() else { return nil }
        // If another program changes the item between these two calls, its date is the older one,
        // and ``replace(_:_:with:keepingHistory:)`` refuses.
        let found = try requesting(keychain.attempt(session.value(of: ItemQuery(item.reference))))
        guard let value = found else {
            throw CLIError(.notFound, "\(title) in \(place) has no value")
        }
        return (item, value)
    }

    /// Gives an item a new value, or a field, unless it was changed or removed since
    /// ``current()``: every change gives it another date.
    ///
    /// - Parameters:
    ///   - field: The field; nil for the value.
    ///   - keepsHistory: Whether the value that is replaced becomes a former one.
    /// - Returns: Whether it has the value now.
    func replace(
        _ item: StoredItem, _ field: FieldName? = nil, with value: SecretValue,
        keepingHistory keepsHistory: Bool = true
    ) throws(CLIError) -> Bool {
        var query = ItemQuery(item.reference)
        query.attributes[.modificationDate] = item.attributes[.modificationDate]
        var session = session
        session.caller.keepsHistory = keepsHistory
        let change = try field.map { (field) throws(CLIError) in
            try self.change(of: field, to: value, isPublic: nil, in: item)
        }
        do {
            _ = try keychain.attempt(
                session.update(
                    query, change?.item ?? ItemChanges(), value: change == nil ? value : nil,
                    fields: change?.fields ?? []))
            return true
        } catch {
            guard error.code == .itemNotFound else { throw CLIError(error) }
            return false
        }
    }
}
