// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

// What the service tells its clients unasked.

extension SecretService {
    func emit(
        _ member: String, item: ItemPath, to client: String? = nil
    ) throws(SystemError) {
        let collection = ObjectPath.collection(item.collection).text
        try bus.emit(member, of: Interface.collection.rawValue, at: collection, to: client) {
            $0.write(item.text, as: "o")
        }
    }

    func handle(_ observed: ObservedChanges) throws(SystemError) {
        for change in observed.changes { try emit(change) }
        guard currentPolicy() == nil else {
            for change in observed.properties { try emitUnderPolicy(change) }
            // Signals that go to all programs tell nothing of what is in an item.
            return tellSeenItems(observed.items)
        }
        for change in observed.properties { try emit(change) }
        tellSeenItems(observed.untold)
    }

    /// Tells all which collections there are, and what a collection has those that may use it.
    private func emitUnderPolicy(_ change: PropertyChange) throws(SystemError) {
        switch change.object {
        case .service: try emit(change)
        case .collection(let name):
            for (client, state) in clients
            where state.access?.access(to: name) ?? .allow == .allow {
                try emit(change, to: client)
            }
        case .alias, .item, .session, .prompt: break
        }
    }

    func emit(_ change: ObservedChange) throws(SystemError) {
        switch change.subject {
        case .item(let item): try emit("Item" + change.kind.rawValue, item: item)
        case .collection(let name): try emit("Collection" + change.kind.rawValue, name)
        }
    }

    func emit(_ member: String, _ collection: String) throws(SystemError) {
        try bus.emit(member, of: Interface.service.rawValue, at: ObjectPath.root) {
            $0.write(ObjectPath.collection(collection).text, as: "o")
        }
    }

    /// Tells that all collections of the keychain were locked or unlocked.
    func emitLock(
        _ isLocked: Bool, _ properties: [PropertyChange]
    ) throws(SystemError) {
        for change in properties {
            guard case .collection(let name) = change.object else {
                try emit(change)
                continue
            }
            if currentPolicy() == nil { try emit(change) } else { try emitLocked(isLocked, name) }
            try emit("CollectionChanged", name)
            guard !isLocked else { continue }
            for (client, state) in clients where state.access?.access(to: name) ?? .allow != .allow
            {
                try emitLocked(true, name, to: client)
            }
        }
    }

    func emitLocked(
        _ isLocked: Bool, _ collection: String, to client: String? = nil
    ) throws(SystemError) {
        let change = PropertyChange(
            object: .collection(collection), properties: [("Locked", .flag(isLocked))])
        try emit(change, to: client)
    }

    func emit(_ change: PropertyChange, to client: String? = nil) throws(SystemError) {
        try bus.emit(
            "PropertiesChanged", of: Interface.properties.rawValue, at: change.object.text,
            to: client
        ) { message in
            message.write(change.object.interface.rawValue)
            message.write(change.properties)
            message.write([], as: "s")
        }
    }
}
