// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing

/// `docker-credential-valet`: one call of docker
/// (https://github.com/docker/docker-credential-helpers, "Development").
///
/// Items are named as docker's helper for macOS names them. Docker compares some errors to the
/// byte, and looks for all of them on standard output.
struct DockerCredentials {
    private let logins: Logins
    private let console: any Console

    static let label = AttributeValue.text("Docker Credentials")
    private static let notFound = CLIError(
        .failure, "credentials not found in native keychain")
    private static let noServer = CLIError(.failure, "no credentials server URL")
    private static let noUsername = CLIError(.failure, "no credentials username")

    static func run(_ values: ParsedValues, _ context: Context) -> ExitCode {
        let operation = values[ClientOptions.operation] ?? ""
        do {
            guard operation != "version" else {
                try context.console.write("docker-credential-valet \(Version.current)\n")
                return .success
            }
            let helper = DockerCredentials(
                logins: try Logins(values, context, asks: false), console: context.console)
            try helper.perform(operation)
            return .success
        } catch {
            do {
                try context.console.write(error.message + "\n")
            } catch {
                return error.code
            }
            // On standard error, where docker ignores it and people see it.
            if let hint = error.hint { context.console.hint(hint) }
            // Docker knows no other code.
            return .failure
        }
    }

    private func perform(_ operation: String) throws(CLIError) {
        switch operation {
        case "get": try get()
        case "store": try store()
        case "erase": try erase()
        case "list": try list()
        default:
            throw CLIError(
                .failure, "docker-credential-valet: unknown action: \(quoted(operation))")
        }
    }

    // MARK: Operations

    private func get() throws(CLIError) {
        let url = try serverURL()
        guard let (item, secret) = try usable(at: url), let username = item.text(.account) else {
            throw Self.notFound
        }
        guard secret.isUTF8 else {
            throw CLIError(.failure, "the stored password is not UTF-8, and JSON cannot hold it")
        }
        var answer = SecretText()
        answer.append("{\"ServerURL\":")
        answer.appendJSONString(url)
        answer.append(",\"Username\":")
        answer.appendJSONString(username)
        answer.append(",\"Secret\":")
        secret.withBytes { answer.appendJSONString($0) }
        answer.append("}\n")
        try console.write(answer.value())
    }

    /// The last item that docker has stored for a registry, else the last one of another program
    /// that docker can use.
    private func usable(
        at url: String
    ) throws(CLIError) -> (item: StoredItem, secret: SecretValue)? {
        var own = try items(at: url)
        if own.isEmpty {
            let strays = try logins.strays(Self.attributes(of: url))
            own = try requesting(strays.items).newestFirst
        }
        if let item = own.first { return try logins.value(of: item).map { (item, $0) } }
        for item in try others(at: url) {
            let secret = try logins.value(of: item).flatMap(Self.password)
            if let secret { return (item, secret) }
        }
        return nil
    }

    private func store() throws(CLIError) {
        let input = try console.readInput(atMost: ClientVerb.maximumByteCount)
        var members: [String: SecretValue] = [:]
        let text = try InputText.decoded(input, "the input")
        var reader = try JSONReader(text, called: "the input")
        try reader.document { (name, reader) throws(CLIError) in
            if reader.kind == .string { members[name] = try reader.string() }
        }
        guard let url = members["ServerURL"]?.publicText, !url.isEmpty else {
            throw Self.noServer
        }
        guard let username = members["Username"]?.publicText, !username.isEmpty else {
            throw Self.noUsername
        }
        guard let secret = members["Secret"] else {
            throw CLIError(.failure, "no credentials secret")
        }
        try store(secret, for: username, at: url)
    }

    private func store(
        _ secret: SecretValue, for username: String, at url: String
    ) throws(CLIError) {
        var attributes = try Self.place(url).attributes
        attributes[.account] = .text(username)
        // The exact text: docker compares what the list shows with its configuration.
        let own: ItemAttributes = [.label: Self.label, .comment: .text(url)]
        var damage: KeychainFailure?
        try logins.retrying { () throws(CLIError) in
            let existing = try logins.existing(.internetPassword, attributes)
            // The label is not part of an item's name.
            guard existing == nil || existing?.attributes[.label] == Self.label else {
                throw CLIError(
                    .failure, "another program keeps a password for this registry and account",
                    hint: "'valet list' shows it; remove it, or use another --group")
            }
            // A registry has one account.
            let others = try found(at: url, noting: &damage).filter { item in
                item.text(.account)?.hasSameBytes(as: username) != true
            }
            return try logins.store(
                existing.map { $0.with(own) }
                    ?? logins.newItem(.internetPassword, attributes.overwritten(by: own)),
                secret, over: existing, deleting: others)
        }
        // Fails if `get` would meet a damaged item of the registry.
        if damage != nil { _ = try items(at: url) }
    }

    private func erase() throws(CLIError) {
        let url = try serverURL()
        var damage: KeychainFailure?
        try logins.retrying { () throws(CLIError) in
            try logins.delete(try found(at: url, noting: &damage))
        }
        // A damaged item may be one of the registry's.
        if let damage { throw CLIError(damage) }
    }

    /// All readable items of a registry.
    private func found(
        at url: String, noting damage: inout KeychainFailure?
    ) throws(CLIError) -> [StoredItem] {
        damage = nil
        let attributes = try Self.attributes(of: url)
        return try logins.found(.internetPassword, attributes).readable(noting: &damage)
            + logins.readableStrays(attributes)
    }

    private func list() throws(CLIError) {
        var accounts: [(url: String, username: String)] = []
        var damage: KeychainFailure?
        let found = try logins.found(.internetPassword, [.label: Self.label])
            .readable(noting: &damage)
        if let damage { console.note("valet: warning: the list is incomplete: \(damage)") }
        for item in found.newestFirst {
            guard let place = LoginPlace(item.attributes), let username = item.text(.account) else {
                continue
            }
            let path = place.path.map { $0.isEmpty ? "" : "/" + $0 } ?? ""
            let url = item.text(.comment) ?? "\(place.scheme)://\(place.host)\(path)"
            // The newest comes first.
            if !accounts.contains(where: { $0.url.hasSameBytes(as: url) }) {
                accounts.append((url, username))
            }
        }
        accounts.sort { $0.url < $1.url }
        var answer = SecretText()
        answer.append("{")
        for (place, account) in accounts.enumerated() {
            if place > 0 { answer.append(",") }
            answer.appendJSONString(account.url)
            answer.append(":")
            answer.appendJSONString(account.username)
        }
        answer.append("}\n")
        try console.write(answer.value())
    }

    // MARK: Registries

    /// The input of docker for `get` and `erase`: only the URL.
    private func serverURL() throws(CLIError) -> String {
        let input = try console.readInput(atMost: ClientVerb.maximumByteCount)
        guard let text = input.publicText else {
            throw CLIError(.failure, "the server URL is not UTF-8")
        }
        let url = text.drop(while: \.isWhitespace)
        let end = url.lastIndex { !$0.isWhitespace }.map { url.index(after: $0) }
        let trimmed = String(url[..<(end ?? url.startIndex)])
        guard !trimmed.isEmpty else { throw Self.noServer }
        return trimmed
    }

    private func items(at url: String) throws(CLIError) -> [StoredItem] {
        try logins.items(.internetPassword, Self.attributes(of: url))
    }

    /// What a person or another program has stored for a registry's server, for a registry without
    /// a password of docker's. Of any path, or without one.
    private func others(at url: String) throws(CLIError) -> [StoredItem] {
        let place = try Self.place(url)
        guard
            let server = LoginPlace(
                scheme: place.scheme, server: place.server, port: place.port, path: nil)
        else { return [] }
        var found = try logins.serving(server, nil)
        if found.isEmpty { found = try logins.straysServing(server, nil) }
        return try requesting(found.items).newestFirst.filter { item in
            let path = item.text(.path) ?? ""
            return item.attributes[.label] != Self.label && (path.isEmpty || path == place.path)
        }
    }

    /// The password that another program has stored; nil for what docker cannot use: a token of
    /// git's that has expired, or that goes with a scheme of its own.
    private static func password(_ value: SecretValue) -> SecretValue? {
        guard let stored = GitSecret(parsing: value) else { return value }
        return stored.authtype == nil && !stored.hasExpired ? stored.secret : nil
    }

    /// The attributes that name docker's items for a registry, besides the account.
    static func attributes(
        of url: String
    ) throws(CLIError) -> ItemAttributes {
        try place(url).attributes.overwritten(by: [.label: label])
    }

    /// The place that a URL names. Registries need not have a scheme, and then use https.
    static func place(_ url: String) throws(CLIError) -> LoginPlace {
        guard let address = LoginAddress(url), !address.hasUser,
            ["http", "https"].contains(address.scheme ?? "https"),
            address.rest.isEmpty || address.rest.utf8.first == UInt8(ascii: "/"),
            let place = LoginPlace(
                scheme: address.scheme ?? "https", host: address.host,
                path: String(
                    decoding: address.rest.utf8.drop { $0 == UInt8(ascii: "/") }, as: UTF8.self))
        else {
            // The text may have a password in it: it is not shown.
            throw CLIError(.failure, "the server URL is not the address of a registry")
        }
        return place
    }
}
