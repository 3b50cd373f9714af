// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The keyrings of GNOME Keyring, KWallet and other programs that implement the Secret Service API
/// of freedesktop.org, draft 0.2.
struct Keyring: ~Copyable {
    private let bus: SessionBus
    /// The object path of the session, an argument of calls for secrets.
    let session: String

    static let service = "org.freedesktop.secrets"
    /// Another bus name that `valet serve` owns. No other Secret Service owns it.
    private static let portalOfValet = "org.freedesktop.impl.portal.desktop.valet"
    static let root = "/org/freedesktop/secrets"
    static let properties = "org.freedesktop.DBus.Properties"
    static let names = (
        service: "org.freedesktop.Secret.Service", collection: "org.freedesktop.Secret.Collection",
        item: "org.freedesktop.Secret.Item"
    )

    /// All items.
    ///
    /// - Parameters:
    ///   - skipsLocked: Whether to leave out locked collections and items, and report them.
    ///   - item: Makes the item of an entry. Without it entries become items of valets and clients.
    /// - Throws: ``ExitCode/locked`` if some are locked, unless they are left out.
    static func read(
        skipsLocked: Bool,
        _ item: ((Entry, Secret) throws(CLIError) -> ImportedItem?)? = nil
    ) throws(CLIError) -> ImportedItems {
        let keyring = try Keyring()
        var found = ImportedItems()
        var locked: [String] = []
        for collection in try keyring.objects("Collections", of: names.service, at: root) {
            // Some services list no items while a collection is locked.
            guard try !keyring.isLocked(collection) else {
                locked.append(try keyring.name(of: collection))
                continue
            }
            for path in try keyring.objects("Items", of: names.collection, at: collection) {
                try keyring.read(path, &found, &locked, item)
            }
        }
        for name in locked where skipsLocked { found.skip(name, "it is locked") }
        guard locked.isEmpty || skipsLocked else {
            let shown = locked.prefix(5).map(quoted).joined(separator: ", ")
            let rest = locked.count > 5 ? ", and \(locked.count - 5) more" : ""
            throw CLIError(
                .locked, "the keyring has locked parts: \(shown)\(rest): nothing was changed",
                hint: "unlock them, for example in Passwords and Keys, or use '--skip-unreadable'")
        }
        if item == nil { found.distinguish() }
        return found
    }

    private func read(
        _ path: String, _ found: inout ImportedItems, _ locked: inout [String],
        _ item: ((Entry, Secret) throws(CLIError) -> ImportedItem?)?
    ) throws(CLIError) {
        guard let entry = try entry(path) else { return found.skip(path, "it cannot be read") }
        guard !entry.isLocked else { return locked.append("\(entry.label) (\(path))") }
        guard let secret = try secret(of: path) else {
            return found.skip(entry.label, "the service does not give its secret")
        }
        guard let item else { return try found.add(entry.item(secret.value)) }
        guard let made = try item(entry, secret) else {
            return found.skip(entry.label, "its attributes are too many or too long")
        }
        try found.add(made)
    }

    /// A collection's label and path.
    func name(of collection: String) throws(CLIError) -> String {
        let answer = try call(
            "Get", of: Self.properties, at: collection,
            [("s", Self.names.collection), ("s", "Label")])
        var label = ""
        _ = answer?.inside("v", "s") { label = answer?.text() ?? "" }
        return label.isEmpty ? collection : "\(label) (\(collection))"
    }

    /// - Parameter time: How long all calls together may take.
    init(for time: Duration = .seconds(180)) throws(CLIError) {
        let bus: SessionBus
        do { bus = try SessionBus(for: time) } catch { throw Self.failure(error) }
        let answer = try Self.call(
            bus, "OpenSession", of: Self.names.service, at: Self.root,
            [("s", "plain"), ("v", "")])
        guard let answer, answer.skip("v"), let session = answer.text("o") else {
            throw CLIError(
                .failure, "no keyring answers on the session bus",
                hint: "start gnome-keyring or KWallet, and unlock it")
        }
        self.session = session
        self.bus = bus
    }

    /// Whether the running Secret Service is that of this keychain: `valet serve`.
    static func isValet() throws(CLIError) -> Bool {
        let name = "org.freedesktop.DBus"
        do {
            let bus = try SessionBus()
            func process(_ owned: String) throws(SystemError) -> UInt32? {
                try bus.call(
                    "GetConnectionUnixProcessID", of: name, at: "/org/freedesktop/DBus", on: name,
                    [("s", owned)])?.number()
            }
            // Bus names tell, because the process of `valet serve` shows nothing else to others.
            guard let own = try process(portalOfValet) else { return false }
            return try process(service) == own
        } catch {
            throw failure(error)
        }
    }

    func call(
        _ member: String, of interface: String, at path: String,
        _ arguments: [(type: Unicode.Scalar, text: String)]
    ) throws(CLIError) -> BusMessage? {
        try Self.call(bus, member, of: interface, at: path, arguments)
    }

    /// Calls a method with the arguments that `write` appends; nil for an error that the service
    /// reports.
    func call(
        _ member: String, of interface: String, at path: String,
        writing write: (borrowing BusMessage) -> Void
    ) throws(CLIError) -> BusMessage? {
        do {
            return try bus.call(member, of: interface, at: path, on: Self.service, write)
        } catch {
            throw Self.failure(error)
        }
    }

    private static func call(
        _ bus: borrowing SessionBus, _ member: String, of interface: String, at path: String,
        _ arguments: [(type: Unicode.Scalar, text: String)]
    ) throws(CLIError) -> BusMessage? {
        do {
            return try bus.call(member, of: interface, at: path, on: service, arguments)
        } catch {
            throw failure(error)
        }
    }

    private static func failure(_ error: SystemError) -> CLIError {
        CLIError(.failure, "\(error)", hint: error.hint)
    }

    private func objects(
        _ property: String, of interface: String, at path: String
    ) throws(CLIError) -> [String] {
        let answer = try call(
            "Get", of: Self.properties, at: path,
            [("s", interface), ("s", property)])
        guard let answer else {
            throw CLIError(.failure, "the keyring does not list its \(property.lowercased())")
        }
        var paths: [String]?
        // Leaving the list fails if a part of it was not read.
        let isList = answer.inside("v", "ao") {
            paths = answer.texts("o", atMost: ImportedItems.maximumCount)
        }
        guard isList, let paths else {
            throw CLIError(
                .failure,
                "the keyring's \(property.lowercased()) are not a list of at most "
                    + "\(ImportedItems.maximumCount) objects: nothing was changed")
        }
        return paths
    }

    func isLocked(_ collection: String) throws(CLIError) -> Bool {
        let answer = try call(
            "Get", of: Self.properties, at: collection,
            [("s", Self.names.collection), ("s", "Locked")])
        var flag: Bool?
        let isRead = answer?.inside("v", "b") { flag = answer?.flag() }
        guard isRead == true, let flag else {
            throw CLIError(.failure, "the keyring does not tell whether a collection is locked")
        }
        return flag
    }

    func entry(_ path: String) throws(CLIError) -> Entry? {
        let answer = try call(
            "GetAll", of: Self.properties, at: path,
            [("s", Self.names.item)])
        guard let answer else { return nil }
        var (entry, hasAttributes) = (Entry(), true)
        let isRead = answer.inside("a", "{sv}") {
            while answer.inside(
                "e", "sv",
                {
                    switch answer.text() {
                    case "Label":
                        _ = answer.inside("v", "s") { entry.label = answer.text() ?? "" }
                    case "Locked":
                        _ = answer.inside("v", "b") { entry.isLocked = answer.flag() ?? true }
                    case "Attributes":
                        _ = answer.inside("v", "a{ss}") {
                            let lookup = answer.pairs(atMost: 1_000, byteCount: .max)
                                .flatMap { [LookupName: String](pairs: $0) }
                            hasAttributes = lookup != nil
                            entry.lookup = lookup ?? [:]
                        }
                    default: _ = answer.skip("v")
                    }
                })
            {}
        }
        return isRead && hasAttributes ? entry : nil
    }

    /// A secret, and its MIME type.
    struct Secret {
        let value: SecretValue
        let contentType: String
    }

    func secret(of path: String) throws(CLIError) -> Secret? {
        let answer = try call(
            "GetSecret", of: Self.names.item, at: path, [("o", session)])
        guard let answer else { return nil }
        var secret: Secret?
        // Session, parameters, value, type of the content.
        _ = answer.inside("r", "oayays") {
            guard answer.skip("oay") else { return }
            guard let value = answer.withBytes({ SecretValue(copying: $0) }) else { return }
            secret = Secret(value: value, contentType: answer.text() ?? "")
        }
        return secret
    }

    /// What the service says of an item.
    struct Entry {
        fileprivate(set) var label = ""
        fileprivate var isLocked = true
        /// The attributes by which programs look for it. For an item without a schema GNOME Keyring
        /// names the general one, once it has stored it.
        fileprivate(set) var lookup: [LookupName: String] = [:]

        /// The item that the entry becomes.
        fileprivate func item(_ value: SecretValue) -> ImportedItem {
            let source = label.isEmpty ? "an item without a label" : label
            if let item = itemOfHelper(value, source) ?? itemOfServer(value, source) { return item }
            if let service = lookup["service"], let account {
                var item = ImportedItem(service: service, account: account, value, from: source)
                item.attributes[.label] = .text(label)
                return item
            }
            var item = ImportedItem(
                service: lookup.withoutGeneralSchema[LookupAttributes.schema] ?? "Secret Service",
                account: source, value, from: source)
            item.attributes[.comment] = .text(comment)
            return item
        }

        private var account: String? {
            lookup["user"] ?? lookup["username"] ?? lookup["account"]
        }

        /// An item of docker's helper or of Git Credential Manager.
        private func itemOfHelper(_ value: SecretValue, _ source: String) -> ImportedItem? {
            let schema = lookup[LookupAttributes.schema]
            if let url = lookup["server"],
                schema == "io.docker.Credentials" || lookup["docker_cli"] == "1"
                    || lookup["label"] == "Docker Credentials"
            {
                return ImportedItem(dockerAt: url, account: account ?? "", value, from: source)
            }
            return lookup["service"].flatMap { service in
                ImportedItem(
                    gitService: service,
                    isAnyNamespace: schema == "com.microsoft.GitCredentialManager",
                    account: account ?? "", value, from: source)
            }
        }

        private func itemOfServer(_ value: SecretValue, _ source: String) -> ImportedItem? {
            guard let server = lookup["server"], !server.isEmpty, let place = place(server)
            else { return nil }
            var item = ImportedItem(
                place, account: account ?? "", kind: .standard, value, from: source)
            item.attributes[.securityDomain] = .text(lookup["domain"] ?? "")
            return item
        }

        /// The place of a server, which some programs write as an address.
        private func place(_ server: String) -> LoginPlace? {
            let path = lookup["object"] ?? ""
            if server.utf8.contains(UInt8(ascii: "/")) {
                guard let address = LoginAddress(server), address.scheme != nil, !address.hasUser
                else { return nil }
                return LoginPlace(address, path: path.isEmpty ? address.path : path)
            }
            let scheme = lookup["protocol"].flatMap { $0.isEmpty ? nil : $0 } ?? "https"
            // Programs write 0, or nothing, for no port.
            guard let port = lookup["port"], !port.isEmpty, port != "0" else {
                return LoginPlace(scheme: scheme, host: server, path: path)
            }
            guard let number = UInt16(port), port.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
            else { return nil }
            return LoginPlace(scheme: scheme, server: server, port: number, path: path)
        }

        /// The attributes by which programs look for the item.
        private var comment: String {
            lookup.withoutGeneralSchema.sorted { $0.key < $1.key }.map {
                "\($0.key.text)=\($0.value)"
            }.joined(separator: ", ")
        }
    }
}

extension ImportedItems {
    /// Gives items with the same name and different attributes different names: a keyring tells its
    /// items apart by their attributes.
    fileprivate mutating func distinguish() {
        let counts = Dictionary(items.map { ($0.primaryKey, 1) }, uniquingKeysWith: +)
        for (place, item) in items.enumerated() where (counts[item.primaryKey] ?? 0) > 1 {
            guard case .text(let account)? = item.attributes[.account],
                case .text(let comment)? = item.attributes[.comment], !comment.isEmpty
            else { continue }
            items[place].attributes[.account] = .text("\(account) (\(comment))")
        }
    }
}
