// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing

/// `git-credential-valet`: one call of git (gitcredentials(7), git-credential(1)).
///
/// Items are named as git's helper for macOS names them. The value is the password; lines after it
/// hold what git sends besides it.
struct GitCredentials {
    private let operation: String
    private let logins: Logins
    private let console: any Console

    init(_ values: ParsedValues, _ context: Context) throws(CLIError) {
        operation = values[ClientOptions.operation] ?? ""
        logins = try Logins(values, context, asks: false)
        console = context.console
    }

    /// Does what git asks for. Ignores unknown operations, as git demands.
    func run() throws(CLIError) -> ExitCode {
        switch operation {
        case "capability": try console.write("version 0\ncapability authtype\n")
        case "get": try get(try request())
        case "store": try store(try request())
        case "erase": try erase(try request())
        default: break
        }
        return .success
    }

    private func request() throws(CLIError) -> GitRequest {
        let input = try console.readInput(atMost: ClientVerb.maximumByteCount)
        return try input.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
            try GitRequest(parsing: bytes)
        }
    }

    // MARK: Operations

    private func get(_ request: GitRequest) throws(CLIError) {
        if try writeFirst(of: try matches(request), request) { return }
        for place in places(request) {
            let found = try logins.serving(place.login, request.username).filter(place.takes)
            if try writeFirst(of: Self.sorted(requesting(found.items)), request) { return }
            let strays = try logins.straysServing(place.login, request.username)
                .filter(place.takes)
            if try writeFirst(of: Self.sorted(requesting(strays.items)), request) { return }
        }
    }

    /// Where the password for a request may be, besides in an item of git's: at its place, else
    /// without the path that git sends with `credential.useHttpPath`, because a person names none.
    private func places(
        _ request: GitRequest
    ) -> [(login: LoginPlace, takes: (StoredItem) -> Bool)] {
        let place = request.place
        guard place.path?.isEmpty == false,
            let host = LoginPlace(
                scheme: place.scheme, server: place.server, port: place.port, path: "")
        else { return [(place, { _ in true })] }
        return [(place, { _ in true }), (host, { !Self.isOwn($0) })]
    }

    /// What a person or another program has stored for a request, as far as it can be read.
    private func others(
        _ request: GitRequest, _ username: String?, noting damage: inout KeychainFailure?
    ) throws(CLIError) -> [StoredItem] {
        // Among the strays, a damaged one may be that of any server.
        var strayDamage: KeychainFailure?
        var items: [StoredItem] = []
        for place in places(request) {
            let found =
                try logins.serving(place.login, username).readable(noting: &damage)
                + logins.straysServing(place.login, username).readable(noting: &strayDamage)
            items += found.filter(place.takes)
        }
        return items
    }

    /// Writes the first password that git can use; returns false if there is none.
    private func writeFirst(
        of items: [StoredItem], _ request: GitRequest
    ) throws(CLIError) -> Bool {
        for item in items {
            guard let username = item.text(.account), GitRequest.isSafe(username),
                let value = try logins.value(of: item),
                let secret = GitSecret(parsing: value),
                secret.authtype == nil || request.knowsAuthtype,
                !secret.hasExpired || secret.refreshToken != nil
            else { continue }
            try write(secret, username, request)
            return true
        }
        return false
    }

    private func write(
        _ secret: GitSecret, _ username: String, _ request: GitRequest
    ) throws(CLIError) {
        var answer = SecretText()
        if let authtype = secret.authtype {
            answer.append("capability[]=authtype\nauthtype=\(authtype)\n")
        }
        if secret.authtype == nil || !username.isEmpty {
            answer.append("username=\(username)\n")
        }
        // git before 2.40 does not know expiry, and would use an expired password.
        if !secret.hasExpired {
            answer.append(secret.authtype == nil ? "password=" : "credential=")
            secret.secret.withBytes { answer.append($0) }
            answer.append("\n")
        }
        if let expiry = secret.expiry { answer.append("password_expiry_utc=\(expiry)\n") }
        if let token = secret.refreshToken {
            answer.append("oauth_refresh_token=")
            token.withBytes { answer.append($0) }
            answer.append("\n")
        }
        try answer.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
            guard !console.isOutputTerminal || TerminalText.isShowable(bytes) else {
                throw CLIError(
                    .failure, "the password is not text, and standard output is a terminal",
                    hint: "redirect the output")
            }
            try console.write(bytes)
        }
    }

    private func store(_ request: GitRequest) throws(CLIError) {
        // Nothing to store: an incomplete credential, or one that must not be kept.
        guard let secret = request.secret, !request.isEphemeral else { return }
        let username = request.username ?? (secret.authtype == nil ? nil : "")
        guard let username else { return }
        var attributes = request.place.attributes
        attributes[.account] = .text(username)
        attributes[.authenticationType] = LoginPlace.authenticationType
        attributes[.label] = .text(request.place.server)
        if try isKept(secret, for: username, request) { return }
        try logins.store(.internetPassword, attributes, secret.encoded)
    }

    /// Whether git got this password from an item of another program, which it has approved: that
    /// stays the only one.
    private func isKept(
        _ secret: GitSecret, for username: String, _ request: GitRequest
    ) throws(CLIError) -> Bool {
        var attributes = Self.attributes(of: request)
        attributes[.account] = .text(username)
        guard try logins.found(.internetPassword, attributes).isEmpty else { return false }
        // A damaged item does not have the value.
        var damage: KeychainFailure?
        for item in Self.sorted(try others(request, username, noting: &damage)) {
            // A person's value may end in a newline, which git does not get.
            let isSame = try logins.has(item, secret.encoded) { GitSecret(parsing: $0)?.encoded }
            if isSame { return true }
        }
        return false
    }

    private func erase(_ request: GitRequest) throws(CLIError) {
        // git sends a secret of another kind than its authtype has: no stored secret was refused.
        guard request.secret != nil || !request.namesSecret else { return }
        var damage: KeychainFailure?
        try logins.retrying { () throws(CLIError) in
            damage = nil
            let found = try others(request, request.username, noting: &damage)
            var refused: [StoredItem] = []
            for item in Self.sorted(found) where try isRefused(item, request) {
                refused.append(item)
            }
            // A person or another program may have stored it.
            return try logins.delete(refused, keepingHistory: true)
        }
        // A damaged password may be one that git wants to be gone.
        if let damage { throw CLIError(damage) }
    }

    /// Whether git wants an item to be gone. If git names the password that was refused, others
    /// stay: another program may have stored the right one by now. If git names none, those of
    /// other programs stay.
    private func isRefused(
        _ item: StoredItem, _ request: GitRequest
    ) throws(CLIError) -> Bool {
        guard request.secret != nil || request.authtype != nil else { return Self.isOwn(item) }
        guard let value = try logins.value(of: item), let stored = GitSecret(parsing: value),
            stored.authtype == request.authtype
        else { return false }
        return request.secret?.secret.isEqual(to: stored.secret) != false
    }

    /// The items of git's that a request means. Without a path, those without one come first.
    private func matches(_ request: GitRequest) throws(CLIError) -> [StoredItem] {
        Self.sorted(try logins.items(.internetPassword, Self.attributes(of: request)))
    }

    /// Whether git, or an import from git, has stored an item.
    private static func isOwn(_ item: StoredItem) -> Bool {
        item.attributes[.authenticationType] == LoginPlace.authenticationType
            && item.attributes[.label] == item.attributes[.server]
    }

    private static func attributes(of request: GitRequest) -> ItemAttributes {
        var attributes = request.place.attributes
        attributes[.authenticationType] = LoginPlace.authenticationType
        if let username = request.username { attributes[.account] = .text(username) }
        return attributes
    }

    /// The newest first, but before them those without a path, and of these git's own. A password
    /// of a web page comes last. Without docker's, which may be tokens for docker alone.
    private static func sorted(_ items: [StoredItem]) -> [StoredItem] {
        func rank(_ item: StoredItem) -> Int {
            let isForm = item.text(.authenticationType) == ImportedItem.Kind.form.rawValue
            return ((item.text(.path) ?? "").isEmpty ? 0 : 4) + (isOwn(item) ? 0 : isForm ? 2 : 1)
        }
        let ranked = items.filter { $0.attributes[.label] != DockerCredentials.label }.newestFirst
            .map { (rank: rank($0), item: $0) }
        return (0...6).flatMap { rank in ranked.filter { $0.rank == rank }.map(\.item) }
    }
}

/// What git sends: lines of `key=value`, up to an empty line.
struct GitRequest {
    let place: LoginPlace
    let username: String?
    /// The password or credential, with its other fields; nil if git sends none.
    let secret: GitSecret?
    /// Whether git sends a secret of any kind, which may be another kind than `authtype` has.
    let namesSecret: Bool
    let authtype: String?
    let isEphemeral: Bool
    /// Whether git knows credentials with an authtype.
    let knowsAuthtype: Bool

    /// - Throws: ``ExitCode/usage`` for a line that is not KEY=VALUE, for carriage returns and null
    ///   bytes, for a date that is not a number, and without protocol or host.
    init(parsing bytes: Span<UInt8>) throws(CLIError) {
        var fields = GitFields()
        for line in bytes.lines {
            if line.isEmpty { break }
            try fields.add(bytes.extracting(line))
        }
        guard let scheme = fields.texts["protocol"], let host = fields.texts["host"] else {
            throw .usage("git names no protocol or no host")
        }
        guard let place = LoginPlace(scheme: scheme, host: host, path: fields.texts["path"]) else {
            throw .usage("the protocol \(quoted(scheme)) is not supported")
        }
        self.place = place
        username = fields.texts["username"]
        isEphemeral = ["1", "true", "yes", "on"].contains(fields.texts["ephemeral"] ?? "")
        knowsAuthtype = fields.capabilities.contains("authtype")
        if let date = fields.texts["password_expiry_utc"], Int64(date) == nil {
            throw .usage("git's password_expiry_utc is not a number")
        }
        authtype = fields.texts["authtype"]
        secret = fields.secret
        namesSecret = !fields.secrets.isEmpty
    }

    /// Whether a value can be sent to git as a line.
    static func isSafe(_ text: String) -> Bool {
        !text.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    }
}

/// The fields of a request, or of a stored value.
private struct GitFields {
    var texts: [String: String] = [:]
    var secrets: [String: SecretValue] = [:]
    var capabilities: Set<String> = []

    private static let secretKeys: Set<String> = ["password", "credential", "oauth_refresh_token"]
    private static let textKeys: Set<String> = [
        "protocol", "host", "path", "username", "ephemeral", "authtype", "password_expiry_utc",
    ]

    /// Adds a line. Ignores unknown keys, as git demands.
    mutating func add(_ line: Span<UInt8>) throws(CLIError) {
        guard line.firstIndex(of: 0) == nil, line.firstIndex(of: UInt8(ascii: "\r")) == nil else {
            throw .usage("a line from git has a carriage return or a null byte")
        }
        guard let equals = line.firstIndex(of: UInt8(ascii: "=")), equals > 0,
            let key = line.extracting(0..<equals).text
        else { throw .usage("a line from git is not KEY=VALUE") }
        let value = line.extracting((equals + 1)..<line.count)
        if Self.secretKeys.contains(key) {
            secrets[key] = SecretValue(copying: value)
        } else if Self.textKeys.contains(key) || key == "capability[]" {
            guard let text = value.text else { throw .usage("git's \(key) is not UTF-8") }
            if key == "capability[]" { capabilities.insert(text) } else { texts[key] = text }
        }
    }

    /// The credential in the fields; nil if they have no credential.
    var secret: GitSecret? {
        let authtype = texts["authtype"]
        guard let secret = secrets[authtype == nil ? "password" : "credential"] else { return nil }
        return GitSecret(
            secret: secret, authtype: authtype,
            // A stored date that is not a number counts as passed.
            expiry: texts["password_expiry_utc"].map { Int64($0) ?? 1 },
            refreshToken: secrets["oauth_refresh_token"])
    }
}

/// A password for git, or a credential with an authtype, and what git keeps with it.
struct GitSecret {
    /// The password or credential.
    let secret: SecretValue
    let authtype: String?
    /// Seconds since 1970.
    let expiry: Int64?
    let refreshToken: SecretValue?

    init(
        secret: SecretValue, authtype: String?, expiry: Int64?, refreshToken: SecretValue?
    ) {
        self.secret = secret
        self.authtype = authtype
        self.expiry = expiry
        self.refreshToken = refreshToken
    }

    var isAlone: Bool { authtype == nil && expiry == nil && refreshToken == nil }

    /// Whether git must not use it any more.
    var hasExpired: Bool {
        guard let expiry else { return false }
        return expiry <= Int64(time(nil))
    }

    /// The item's value: the password, and a line for each other field.
    var encoded: SecretValue {
        guard !isAlone else { return secret }
        var text = SecretText()
        secret.withBytes { text.append($0) }
        if let authtype { text.append("\nauthtype=\(authtype)") }
        if let expiry { text.append("\npassword_expiry_utc=\(expiry)") }
        if let refreshToken {
            text.append("\noauth_refresh_token=")
            refreshToken.withBytes { text.append($0) }
        }
        return text.value()
    }

    /// Reads an item's value; nil for one that git could misread. A newline at the end, as `echo`
    /// writes it, belongs to no field.
    init?(parsing value: SecretValue) {
        let parsed: GitSecret? = value.withBytes { bytes in
            let lines = bytes.lines
            var fields = GitFields()
            for line in lines.dropFirst() {
                do {
                    try fields.add(bytes.extracting(line))
                } catch {
                    return nil
                }
            }
            let end = lines.first?.upperBound ?? 0
            let first = bytes.extracting(0..<end)
            guard first.firstIndex(of: 0) == nil, first.firstIndex(of: UInt8(ascii: "\r")) == nil
            else { return nil }
            let key = fields.texts["authtype"] == nil ? "password" : "credential"
            fields.secrets[key] = SecretValue(copying: first)
            return fields.secret
        }
        guard let parsed else { return nil }
        self = parsed
    }
}
