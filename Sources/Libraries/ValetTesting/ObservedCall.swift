// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// A call to a temporary keychain, and how a real keychain in a scripted state would answer it
/// (docs/TESTING.md). `ActiveFailure` asks it.
struct ObservedCall {
    let call: SessionCall
    let session: KeychainSession

    init(_ call: SessionCall, _ session: KeychainSession) {
        self.call = call
        self.session = session
    }

    func isAbout(_ account: String) -> Bool {
        switch call {
        case .add(let item), .set(let item), .replace(_, let item):
            item.attributes[.account] == .text(account)
        case .transfer(let items): items.contains { $0.attributes[.account] == .text(account) }
        case .values(let accounts, _): accounts.contains(account)
        case .copy(let query, _), .contains(let query), .update(let query, _),
            .delete(let query):
            query.attributes[.account].map { $0 == .text(account) }
                ?? !found(query, key: account).isEmpty
        }
    }

    /// The error of a keychain in that state; nil if the state does not matter to the call.
    ///
    /// - Parameter key: The account of the only items that the state applies to; nil for all.
    func failure(_ kind: ScriptedFailure.Kind, key: String?) -> KeychainFailure? {
        switch kind {
        case .locked where meetsLocked(key): locked
        case .beforeFirstUnlock: locked
        case .keyUnavailable: KeychainFailure(.keyUnavailable, during: call.operation)
        case .damaged where opensItems(key):
            KeychainFailure(.damaged, during: call.operation, hint: "run `valet doctor`")
        case .diskFull where call.writes: KeychainFailure(.diskFull, during: call.operation)
        case .userCancelled where asksPerson(key):
            KeychainFailure(.userCancelled, during: call.operation)
        case .locked, .damaged, .diskFull, .userCancelled, .slow: nil
        }
    }

    private var locked: KeychainFailure {
        KeychainFailure(.locked, during: call.operation, hint: "run `valet unlock`")
    }

    private func meetsLocked(_ key: String?) -> Bool {
        switch call {
        case .add(let item), .set(let item): item.protectionClass.isClosedWhileLocked
        case .transfer(let items): items.contains { $0.protectionClass.isClosedWhileLocked }
        case .replace(let query, let item):
            item.protectionClass.isClosedWhileLocked || meetsUndeletable(query, key)
        case .copy(let query, _), .contains(let query): meetsClosed(query, key)
        case .values(_, let service): meetsClosed(service.query, key)
        case .update(let query, let changes):
            meetsClosed(query, key)
                || changes.protectionClass?.isClosedWhileLocked == true
                    && !found(query, key: key).isEmpty
        case .delete(let query): meetsUndeletable(query, key)
        }
    }

    private func meetsUndeletable(_ query: ItemQuery, _ key: String?) -> Bool {
        // Deleting a synchronizable item leaves a tombstone, which needs the item's names.
        found(query, key: key).contains { item in
            item.protectionClass.isClosedWhileLocked
                && (item.isSynchronizable || query.needsOpening)
        }
    }

    private func meetsClosed(_ query: ItemQuery, _ key: String?) -> Bool {
        found(query, key: key).contains { $0.protectionClass.isClosedWhileLocked }
    }

    private func opensItems(_ key: String?) -> Bool {
        switch call {
        case .copy(let query, _), .update(let query, _): !found(query, key: key).isEmpty
        case .values(_, let service): !found(service.query, key: key).isEmpty
        case .add, .set, .replace, .transfer, .contains, .delete: false
        }
    }

    private func asksPerson(_ key: String?) -> Bool {
        switch call {
        case .copy(let query, readsValues: true), .update(let query, _):
            !found(query, key: key).isEmpty
        case .values(_, let service): !found(service.query, key: key).isEmpty
        case .add, .set, .replace, .transfer, .contains, .delete, .copy(_, readsValues: false):
            false
        }
    }

    /// The items that a call finds; none if the call fails by itself.
    private func found(_ query: ItemQuery, key: String?) -> [StoredItem] {
        let result = try? session.store.copy(
            query, .attributes, for: session.caller, PresenceAccess(.demanding))
        guard case .found(let found)? = result else { return [] }
        // A scripted state applies to what could be read without it.
        var damage: KeychainFailure?
        return found.readable(noting: &damage).filter { item in
            let account = item.attributes[.account]
            if case .values(let accounts, _) = call {
                guard case .text(let text)? = account, accounts.contains(text) else {
                    return false
                }
            }
            return key.map { account == .text($0) } ?? true
        }
    }
}

extension ItemQuery {
    /// Whether items must be opened to decide whether they match.
    fileprivate var needsOpening: Bool {
        hostOrSubdomainOfHost != nil || attributes[.creationDate] != nil
            || attributes[.modificationDate] != nil
    }
}

extension SessionCall {
    var operation: String {
        switch self {
        case .add: "add an item"
        case .set, .replace: "set an item"
        case .transfer: "move items"
        case .copy(_, readsValues: true): "read an item"
        case .copy(_, readsValues: false), .values: "read items"
        case .contains: "look for an item"
        case .update: "update items"
        case .delete: "delete items"
        }
    }

    var writes: Bool {
        switch self {
        case .add, .set, .replace, .transfer, .update, .delete: true
        case .copy, .values, .contains: false
        }
    }
}
