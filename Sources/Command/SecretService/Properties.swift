// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

enum PropertyValue: Sendable {
    case text(String)
    case flag(Bool)
    case time(UInt64)
    case paths([String])
    case attributes([LookupName: String])
}

extension BusMessage {
    func write(_ properties: [Holdings.Property]) {
        write("a", of: "{sv}") {
            for (name, value) in properties {
                write("e", of: "sv") {
                    write(name)
                    write(value)
                }
            }
        }
    }

    /// Appends the value as a variant.
    func write(_ value: PropertyValue) {
        switch value {
        case .text(let text): write(variant: "s") { write(text) }
        case .flag(let flag): write(variant: "b") { write(flag) }
        case .time(let seconds): write(variant: "t") { write(seconds) }
        case .paths(let paths): write(variant: "ao") { write(paths, as: "o") }
        case .attributes(let attributes): write(variant: "a{ss}") { write(attributes.pairs) }
        }
    }
}

/// New values of properties, for the signal `PropertiesChanged`.
struct PropertyChange: Sendable {
    let object: ObjectPath
    let properties: [Holdings.Property]
}

// The interface org.freedesktop.DBus.Properties.

extension SecretService {
    func planProperties(_ call: borrowing BusMessage, _ object: ObjectPath) -> Plan? {
        guard let interface = call.text(atMost: BusMessage.maximalNameByteCount) else { return nil }
        guard interface == object.interface.rawValue || interface.isEmpty else {
            return .refuse(.unknownInterface, "the object has no properties of \(interface)")
        }
        let known = object.interface.properties
        guard call.member != "GetAll" else {
            return .reading { (holdings) throws(KeychainFailure) in
                let values = try holdings.properties(of: object)
                return .results { $0.write(values) }
            }
        }
        guard let name = call.text(atMost: BusMessage.maximalNameByteCount) else { return nil }
        guard let property = known.first(where: { $0.name == name }) else {
            return .refuse(.unknownProperty, "there is no property \(name)")
        }
        guard call.member == "Set" else {
            return .reading { (holdings) throws(KeychainFailure) in
                let values = try holdings.properties(of: object, only: name)
                guard let value = values.first(where: { $0.name == name })?.value else {
                    throw Holdings.noSuchObject
                }
                return .results { $0.write(value) }
            }
        }
        guard property.isWritable else {
            return .refuse(.readOnly, "the property \(name) cannot be set")
        }
        return setProperty(call, object, name)
    }

    private func setProperty(
        _ call: borrowing BusMessage, _ object: ObjectPath, _ name: String
    ) -> Plan? {
        var change = SecretChange()
        let isRead =
            name == "Label"
            ? call.inside("v", "s") { change.label = call.text() }
            : call.inside("v", "a{ss}") { change.attributes = call.attributes() }
        guard isRead, change.label != nil || change.attributes != nil else { return nil }
        if case .item(let item) = object { return self.change(item) { [change] in change } }
        let label = change.label ?? ""
        return .changing { (holdings) throws(KeychainFailure) in
            guard let name = try holdings.collection(object), try holdings.record(of: name) != nil
            else { throw Holdings.noSuchObject }
            if name == CollectionList.session { return Holdings.alwaysThere }
            try holdings.checkChange(of: name)
            try holdings.list.setLabel(label, of: name)
            return .nothing
        }
    }
}

extension Holdings {
    typealias Property = (name: String, value: PropertyValue)

    /// The properties of an object, in the order of its interface.
    ///
    /// - Parameter name: The only property that is wanted.
    func properties(
        of object: ObjectPath, only name: String? = nil
    ) throws(KeychainFailure) -> [Property] {
        switch object {
        case .service:
            let paths = try collections().map { ObjectPath.collection($0).text }
            return [("Collections", .paths(paths))]
        case .collection, .alias: return try collectionProperties(of: object, only: name)
        case .item(let item): return try properties(of: item)
        case .session, .prompt: return []
        }
    }

    private func collectionProperties(
        of object: ObjectPath, only name: String?
    ) throws(KeychainFailure) -> [Property] {
        guard let known = try collection(object), let record = try record(of: known) else {
            throw Self.noSuchObject
        }
        let items = items(of: known)
        var properties: [Property] = []
        if name == nil || name == "Items" {
            // There may be many items.
            try checkQuick(.max)
            let paths = try items.ids(having: nil).map { id in
                ItemPath(collection: known, id: id).text
            }
            properties.append(("Items", .paths(paths)))
        }
        let created = created(record)
        return properties + [
            ("Label", .text(record.label)), ("Locked", .flag(try items.isLocked())),
            ("Created", .time(created)), ("Modified", .time(max(created, record.modified))),
        ]
    }

    /// The collections that nobody has made are as old as the keychain, or as this service.
    private func created(_ record: CollectionRecord) -> UInt64 {
        if record.name == CollectionList.session { return started }
        guard record.name == CollectionList.login || record.created == 0 else {
            return record.created
        }
        return list.session.store.birth.flatMap { UInt64(exactly: $0) } ?? started
    }

    /// A locked item shows what is remembered of it.
    private func properties(of item: ItemPath) throws(KeychainFailure) -> [Property] {
        let item = try actual(item)
        let items = items(of: item.collection)
        guard try items.isLocked() else {
            guard let record = try items.record(of: item.id) else { throw Self.noSuchObject }
            return Self.properties(of: record)
        }
        guard try items.exists(item.id) else { throw Self.noSuchObject }
        let isAllowed = access?.access(to: item.collection) ?? .allow == .allow
        return Self.properties(
            of: isAllowed ? remembered.record(of: item) : nil, isLocked: true)
    }

    /// - Parameter record: nil for an item of which nothing is known.
    static func properties(of record: SecretRecord?, isLocked: Bool = false) -> [Property] {
        let attributes = record?.attributes ?? [:]
        return [
            ("Locked", .flag(isLocked)), ("Attributes", .attributes(attributes)),
            ("Label", .text(record?.label ?? "")),
            ("Type", .text(attributes[LookupAttributes.schema] ?? "")),
            ("Created", .time(record?.created ?? 0)), ("Modified", .time(record?.modified ?? 0)),
        ]
    }
}
