// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

// The methods of collections and items.

extension SecretService {
    func planCollection(_ call: borrowing BusMessage, _ object: ObjectPath) -> Plan? {
        switch call.member {
        case "CreateItem": return createItem(call, object)
        case "SearchItems":
            guard let attributes = call.attributes() else { return nil }
            return .reading { (holdings) throws(KeychainFailure) in
                guard let name = try holdings.collection(object) else {
                    throw Holdings.noSuchObject
                }
                let paths = try holdings.search(attributes, in: name).map(\.text)
                return .results { $0.write(paths, as: "o") }
            }
        default:
            return .changing { (holdings) throws(KeychainFailure) in
                guard let name = try holdings.collection(object) else {
                    throw Holdings.noSuchObject
                }
                if name == CollectionList.session { return Holdings.alwaysThere }
                try holdings.checkChange(of: name)
                if try holdings.items(existing: name).isLocked() {
                    throw KeychainFailure(.locked, during: "delete a collection")
                }
                try holdings.list.delete(name)
                return .path(ObjectPath.none)
            }
        }
    }

    private func createItem(_ call: borrowing BusMessage, _ object: ObjectPath) -> Plan? {
        guard let properties = call.newProperties(of: .item), let travelling = call.secret(),
            let isReplacing = call.flag()
        else { return nil }
        guard let transfer = session(travelling.session, of: call.sender) else {
            return Self.noSession
        }
        let record = SecretRecord(
            label: properties.label, attributes: properties.attributes,
            contentType: travelling.contentType)
        let (inbox, client) = (inbox, call.sender)
        return .changing { (holdings) throws(KeychainFailure) in
            let value = try travelling.opened(by: transfer)
            guard let name = try holdings.collection(object) else { throw Holdings.noSuchObject }
            let stored = try holdings.items(existing: name)
                .store(record, value, replacing: isReplacing)
            holdings.access?.noteUse(of: name)
            let path = ItemPath(collection: name, id: stored.id)
            if name == CollectionList.session {
                inbox.add(.sessionItem(stored.wasThere ? .changed : .created, path))
            }
            inbox.add(.stored(client, path))
            return .results { message in
                message.write(path.text, as: "o")
                message.write(ObjectPath.none, as: "o")
            }
        }
    }

    func planItem(_ call: borrowing BusMessage, _ object: ObjectPath) -> Plan? {
        guard case .item(let item) = object else { return nil }
        switch call.member {
        case "GetSecret":
            guard let session = call.text("o") else { return nil }
            guard let transfer = self.session(session, of: call.sender) else {
                return Self.noSession
            }
            return .reading { (holdings) throws(KeychainFailure) in
                guard let secret = try holdings.secret(of: item, through: transfer, session)
                else { throw Holdings.noSuchObject }
                return .secrets({ $0.write(secret) }, { $0.fill(secret) })
            }
        case "SetSecret":
            guard let travelling = call.secret() else { return nil }
            guard let transfer = session(travelling.session, of: call.sender) else {
                return Self.noSession
            }
            return change(item) { () throws(KeychainFailure) in
                let value = try travelling.opened(by: transfer)
                return SecretChange(secret: (value, travelling.contentType))
            }
        default:
            let inbox = inbox
            return .changing { (holdings) throws(KeychainFailure) in
                let item = try holdings.actual(item)
                let items = holdings.items(of: item.collection)
                if try items.isLocked() {
                    throw KeychainFailure(.locked, during: "delete an item")
                }
                guard try items.delete(item.id) else { throw Holdings.noSuchObject }
                if item.collection == CollectionList.session {
                    inbox.add(.sessionItem(.deleted, item))
                }
                return .path(ObjectPath.none)
            }
        }
    }

    func change(
        _ item: ItemPath, _ change: @escaping @Sendable () throws(KeychainFailure) -> SecretChange
    ) -> Plan {
        let inbox = inbox
        return .changing { (holdings) throws(KeychainFailure) in
            let change = try change()
            let item = try holdings.actual(item)
            guard try holdings.items(of: item.collection).change(item.id, change) else {
                throw Holdings.noSuchObject
            }
            if item.collection == CollectionList.session {
                inbox.add(.sessionItem(.changed, item))
            }
            return .nothing
        }
    }
}
