// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

// What each method does. The thread of the bus reads the whole message here.

extension SecretService {
    /// How a call is carried out.
    func plan(_ call: borrowing BusMessage) -> Plan {
        guard role == .secrets else {
            return call.path == Portal.path
                ? planPortal(call) : .refuse(.unknownObject, "there is no object \(call.path)")
        }
        guard let object = ObjectPath(call.path) else { return planFolder(call) }
        see(object, by: call.sender)
        let named = call.interface
        let own = [object.interface] + Interface.standard
        let known = named.isEmpty ? own : own.filter { $0.rawValue == named }
        guard !known.isEmpty else {
            return .refuse(.unknownInterface, "\(call.path) has no interface \(named)")
        }
        for interface in known {
            guard let method = interface.methods.first(where: { $0.name == call.member }) else {
                continue
            }
            guard call.signature == method.takes.joined() else {
                return .refuse(
                    .invalidArguments, "\(method.name) takes \(method.takes.joined())")
            }
            let plan: Plan? =
                switch interface {
                case .service: planService(call)
                case .collection: planCollection(call, object)
                case .item: planItem(call, object)
                case .session: planSession(call, object)
                case .prompt: planPrompt(call, object)
                case .properties: planProperties(call, object)
                case .introspection: planIntrospection(object, for: call.sender)
                // The portal has an object of its own.
                case .portal, .peer: nil
                }
            return plan ?? .refuse(.invalidArguments, "the arguments of \(method.name)")
        }
        return .refuse(.unknownMethod, "there is no method \(call.member)")
    }

    // MARK: Service

    private func planService(_ call: borrowing BusMessage) -> Plan? {
        switch call.member {
        case "OpenSession": return openSession(call)
        case "CreateCollection": return createCollection(call)
        case "SearchItems":
            guard let attributes = call.attributes() else { return nil }
            return .reading { (holdings) throws(KeychainFailure) in
                let found = try holdings.search(attributes)
                return .results { message in
                    message.write(found.unlocked, as: "o")
                    message.write(found.locked, as: "o")
                }
            }
        case "Unlock": return call.paths().map(unlock)
        case "Lock": return call.paths().map(lock)
        case "GetSecrets":
            guard let paths = call.paths(), let session = call.text("o") else { return nil }
            return getSecrets(paths, session, for: call.sender)
        case "ReadAlias":
            guard let alias = call.text() else { return nil }
            return .reading { (holdings) throws(KeychainFailure) in
                let target = try holdings.list.target(ofAlias: alias)
                return .path(target.map { ObjectPath.collection($0).text } ?? ObjectPath.none)
            }
        default:
            guard let alias = call.text(), let path = call.text("o") else { return nil }
            return setAlias(alias, path)
        }
    }

    private func setAlias(_ alias: String, _ path: String) -> Plan {
        .changing { (holdings) throws(KeychainFailure) in
            // The change redirects what other programs store by the alias.
            if let old = try holdings.list.target(ofAlias: alias) {
                try holdings.checkChange(of: old)
            }
            guard path != ObjectPath.none else {
                try holdings.list.setAlias(alias, to: nil)
                return .nothing
            }
            guard let name = try holdings.collection(ObjectPath(path)),
                try holdings.record(of: name) != nil
            else { throw Holdings.noSuchObject }
            try holdings.checkChange(of: name)
            try holdings.list.setAlias(alias, to: name)
            return .nothing
        }
    }

    private func openSession(_ call: borrowing BusMessage) -> Plan? {
        guard let algorithm = call.text(atMost: BusMessage.maximalNameByteCount) else { return nil }
        let client = call.sender
        switch algorithm {
        case TransferSession.plainName:
            guard call.inside("v", "s", { _ = call.text() }) else { return nil }
            guard mayOpenSession(client) else { return .now(Self.tooManyObjects) }
            owner(of: client)?.sessionCount += 1
            let path = addSession(.plain, to: client)
            return .now(
                .results { message in
                    message.write(variant: "s") { message.write("") }
                    message.write(path, as: "o")
                })
        case TransferSession.encryptedName:
            guard let cipher = TransferCipher.ofSystem else { break }
            var key: [UInt8]?
            _ = call.inside("v", "ay") {
                key = call.withBytes { bytes in bytes.indices.map { bytes[$0] } }
            }
            guard let key else { return nil }
            guard mayOpenSession(client) else { return .now(Self.tooManyObjects) }
            return .agreeing { (_) throws(KeychainFailure) in
                guard let agreement = TransferSession.agree(with: key, by: cipher) else {
                    return .refusal(.invalidArguments, "the arguments of OpenSession")
                }
                return .agreed(agreement)
            }
        default: break
        }
        return .refuse(.notSupported, "the algorithm \(algorithm) is not supported")
    }

    /// Half the maximum size of a bus message.
    private static let maximalReplyByteCount = 64 << 20
    private static let maximalPathByteCount = 1 << 20

    private func createCollection(_ call: borrowing BusMessage) -> Plan? {
        guard let properties = call.newProperties(of: .collection), let alias = call.text() else {
            return nil
        }
        let label = properties.label
        return .changing { (holdings) throws(KeychainFailure) in
            let path = ObjectPath.collection(
                try holdings.makeCollection(label: label, alias: alias)
            ).text
            return .results { message in
                message.write(path, as: "o")
                message.write(ObjectPath.none, as: "o")
            }
        }
    }

    /// Answers at once with what is open, and asks a person for the rest.
    private func unlock(_ paths: [String]) -> Plan {
        guard paths.reduce(0, { $0 + $1.utf8.count }) <= Self.maximalPathByteCount else {
            return .now(Self.tooManyObjects)
        }
        return .reading { (holdings) throws(KeychainFailure) in
            let (open, prompt) = try holdings.unlocking(paths)
            return .unlocking(open, prompt)
        }
    }

    /// Locks the keychain if one of the objects is in it.
    private func lock(_ paths: [String]) -> Plan {
        let kept = paths.filter { path in
            switch ObjectPath(path) {
            case .collection(let name), .alias(let name): name != CollectionList.session
            case .item(let item): item.collection != CollectionList.session
            default: false
            }
        }
        return .changing { (holdings) throws(KeychainFailure) in
            var allowed: [String] = []
            // It closes the keychain for all programs, and by nothing that is not in it.
            for path in try holdings.present(kept)
            where try holdings.access(to: ObjectPath(path)) == .allow {
                allowed.append(path)
            }
            let kept = allowed
            var isDone = !kept.isEmpty
            if isDone {
                do throws(KeychainFailure) {
                    try holdings.list.session.store.keychain.lock()
                } catch {
                    // A keychain that has no passcode, or does not exist, cannot be locked.
                    guard [.passcodeNotSet, .itemNotFound].contains(error.code) else { throw error }
                    isDone = false
                }
            }
            return .results { [isDone] message in
                message.write(isDone ? kept : [], as: "o")
                message.write(ObjectPath.none, as: "o")
            }
        }
    }

    /// The secrets of those items that exist and are not locked.
    private func getSecrets(_ paths: [String], _ session: String, for client: String) -> Plan {
        guard let transfer = self.session(session, of: client) else { return Self.noSession }
        return .reading { (holdings) throws(KeychainFailure) in
            try holdings.checkQuick(paths.count)
            var found: [(path: String, secret: TravellingSecret)] = []
            var byteCount = 0
            for path in paths {
                guard case .item(let item)? = ObjectPath(path) else { continue }
                do throws(KeychainFailure) {
                    let secret = try holdings.secret(of: item, through: transfer, session)
                    guard let secret else { continue }
                    byteCount += secret.bytes.byteCount
                    try holdings.checkQuick(found.count, byteCount: byteCount)
                    guard byteCount <= Self.maximalReplyByteCount else {
                        throw KeychainFailure(
                            .invalidRequest, during: "read secrets",
                            message: "the secrets are too large to be read together")
                    }
                    found.append((path, secret))
                } catch {
                    guard error.code == .locked else { throw error }
                }
            }
            return .secrets(found)
        }
    }

    static let noSession = Plan.refuse(.noSession, "there is no such session of this client")

    func session(_ path: String, of client: String) -> TransferSession? {
        guard case .session(let number)? = ObjectPath(path) else { return nil }
        return clients[client]?.sessions[number]
    }

    // MARK: Sessions

    private func planSession(_ call: borrowing BusMessage, _ object: ObjectPath) -> Plan {
        guard case .session(let number) = object,
            clients[call.sender]?.sessions.removeValue(forKey: number) != nil
        else { return Self.noSession }
        owner(of: call.sender)?.sessionCount -= 1
        return .now(.nothing)
    }
}

extension Holdings {
    /// Which of these objects are open, and the prompt that opens the others. Leaves out objects
    /// that do not exist, or that a policy denies.
    func unlocking(_ paths: [String]) throws(KeychainFailure) -> ([String], UnlockPrompt?) {
        let isLocked = try list.session.isLocked()
        var (open, closed, asked): ([String], [String], Set<String>) = ([], [], [])
        var isForPasscode = false
        for path in try present(paths) {
            guard let name = try collectionName(ObjectPath(path)) else { continue }
            let access = self.access?.access(to: name) ?? .allow
            switch access {
            case .deny: break
            case .allow where !isLocked || name == CollectionList.session: open.append(path)
            case .allow, .ask:
                closed.append(path)
                if access == .ask { asked.insert(name) }
                if isLocked, name != CollectionList.session { isForPasscode = true }
            }
        }
        guard !closed.isEmpty else { return (open, nil) }
        return (
            open, UnlockPrompt(objects: closed, collections: asked, isForPasscode: isForPasscode)
        )
    }

    /// The paths of collections and items that exist, as far as that is known.
    func present(_ paths: [String]) throws(KeychainFailure) -> [String] {
        try checkQuick(paths.count)
        var found: [String] = []
        for path in paths {
            do {
                let isThere =
                    if case .item(let item)? = ObjectPath(path) {
                        try exists(try actual(item))
                    } else if let name = try collection(ObjectPath(path)) {
                        try record(of: name) != nil
                    } else {
                        false
                    }
                if isThere { found.append(path) }
            } catch {
                guard error.code == .itemNotFound else { throw error }
            }
        }
        return found
    }

    private func exists(_ item: ItemPath) throws(KeychainFailure) -> Bool {
        guard try record(of: item.collection) != nil else { return false }
        return try items(of: item.collection).exists(item.id)
    }

    /// The name of the collection that an object is or belongs to; nil for other objects.
    private func collectionName(_ object: ObjectPath?) throws(KeychainFailure) -> String? {
        if case .item(let item)? = object { return item.collection }
        return try collection(object)
    }

    /// What the calling program may do with an object.
    func access(to object: ObjectPath?) throws(KeychainFailure) -> AccessPolicy.Access {
        try collectionName(object).flatMap { self.access?.access(to: $0) } ?? .allow
    }

    /// Makes a collection, or labels the one that has the alias.
    ///
    /// - Returns: Its name.
    func makeCollection(label: String, alias: String) throws(KeychainFailure) -> String {
        guard !alias.isEmpty, let name = try list.target(ofAlias: alias) else {
            let name = try list.newName(label)
            try checkChange(of: name)
            try list.create(name, label: label, alias: alias)
            return name
        }
        guard !label.isEmpty, name != CollectionList.session else { return name }
        try checkChange(of: name)
        try list.setLabel(label, of: name)
        return name
    }

    /// The secret of an item as it travels; nil for an item that is gone.
    func secret(
        of item: ItemPath, through transfer: TransferSession, _ session: String
    ) throws(KeychainFailure) -> TravellingSecret? {
        let item = try actual(item)
        guard let found = try items(of: item.collection).secret(of: item.id) else { return nil }
        try checkQuick(1, byteCount: found.value.byteCount)
        guard let sealed = transfer.sealed(found.value) else {
            throw KeychainFailure(
                .internalFault, during: "send a secret",
                message: "the secret cannot be encrypted for the program")
        }
        access?.note?(item.text)
        access?.noteUse(of: item.collection)
        return TravellingSecret(session, sealed.parameters, sealed.bytes, found.contentType)
    }
}
