// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSystem

// The interface org.freedesktop.DBus.Introspectable.

extension SecretService {
    func planIntrospection(_ object: ObjectPath, for client: String) -> Plan {
        let own = ownObjects(of: client)
        return .reading { (holdings) throws(KeychainFailure) in
            let isOwn = own.contains(object) || object == .service
            let found = isOwn ? [object.text] : try holdings.present([object.text])
            guard !found.isEmpty else {
                return .refusal(.unknownObject, "there is no object \(object.text)")
            }
            let text = Interface.description(
                of: [object.interface] + Interface.standard,
                children: try holdings.names(below: object, own))
            return .results { $0.write(text) }
        }
    }

    /// Paths that lead to objects, and are none, have introspection alone.
    func planFolder(_ call: borrowing BusMessage) -> Plan {
        let path = call.path
        let (isAbove, isBelow) = (ObjectPath.isAboveRoot(path), ObjectPath.folders.contains(path))
        guard call.member == "Introspect", call.signature.isEmpty,
            ["", Interface.introspection.rawValue].contains(call.interface), isAbove || isBelow
        else { return .refuse(.unknownObject, "there is no object \(path)") }
        let own = ownObjects(of: call.sender)
        return .reading { (holdings) throws(KeychainFailure) in
            let names =
                isAbove
                ? ObjectPath.names([ObjectPath.root], below: path)
                : ObjectPath.names(
                    try holdings.names(below: .service, own).map { "\(ObjectPath.root)/\($0)" },
                    below: path)
            let text = Interface.description(of: [.introspection, .peer], children: names)
            return .results { $0.write(text) }
        }
    }

    /// The objects that belong to one client.
    private func ownObjects(of client: String) -> [ObjectPath] {
        guard let client = clients[client] else { return [] }
        return client.sessions.keys.sorted().map(ObjectPath.session)
            + client.prompts.keys.sorted().map(ObjectPath.prompt)
    }
}

extension Holdings {
    /// The paths of the objects below another, relative to it.
    ///
    /// - Parameter own: The objects that belong to the client alone.
    func names(
        below object: ObjectPath, _ own: [ObjectPath]
    ) throws(KeychainFailure) -> [String] {
        switch object {
        case .service:
            let objects =
                try collections().map(ObjectPath.collection) + list.aliases().map(ObjectPath.alias)
            return ObjectPath.names((objects + own).map(\.text), below: ObjectPath.root)
        case .collection(let name):
            // There may be many items.
            try checkQuick(.max)
            return try items(of: name).ids(having: nil)
        // Items have no other paths than those in their collection.
        case .alias, .item, .session, .prompt: return []
        }
    }
}

extension ObjectPath {
    /// The paths between that of the service and those of other objects.
    static let folders = ["collection", "aliases", "session", "prompt"].map { "\(root)/\($0)" }

    static func isAboveRoot(_ path: String) -> Bool {
        path == "/" || !path.isEmpty && (root + "/").hasPrefix(path + "/") && path != root
    }

    /// Those of `paths` that are below `folder`, relative to it.
    static func names(_ paths: [String], below folder: String) -> [String] {
        let prefix = folder == "/" ? folder : folder + "/"
        return paths.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
}
