// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory

/// The verbs of `aws-credentials`: access keys for programs that run a `credential_process`
/// (AWS SDKs and Tools Reference Guide, "Process credential provider").
///
/// An item is a generic password with the service "AWS credentials" and the profile as account. Its
/// value is the JSON object that the process writes.
struct AWSKeys {
    private let profile: String
    private let logins: Logins
    private let console: any Console

    private static let service = AttributeValue.text("AWS credentials")

    init(_ values: ParsedValues, _ context: Context) throws(CLIError) {
        profile = values[AWSHelp.profile] ?? ""
        guard !profile.isEmpty else { throw .usage("PROFILE is empty") }
        logins = try Logins(values, context, asks: false)
        console = context.console
    }

    private var attributes: [Attribute: AttributeValue] {
        [.service: Self.service, .account: .text(profile)]
    }

    private func item() throws(CLIError) -> StoredItem {
        guard let item = try logins.items(.genericPassword, attributes).first else {
            throw CLIError(
                .notFound, "no AWS keys with the name \(quoted(profile))",
                hint: "'valet aws-credentials store' stores them")
        }
        return item
    }

    /// Writes the keys as the process has to.
    func write() throws(CLIError) {
        guard let value = try logins.value(of: try item()) else {
            throw CLIError(.notFound, "the keys \(quoted(profile)) have no value")
        }
        let keys = try AWSKeySet(parsing: value, called: "the stored value")
        if let end = keys.end, end <= Int64(time(nil)) {
            throw CLIError(
                .failure, "the keys \(quoted(profile)) have expired",
                hint: "'valet aws-credentials store' stores new ones")
        }
        let text = keys.encoded
        try text.withBytes { (bytes: Span<UInt8>) throws(CLIError) in try console.write(bytes) }
        try console.write("\n")
    }

    /// Stores keys that a person types or a pipe brings.
    func store() throws(CLIError) {
        let keys: AWSKeySet
        if console.isInputTerminal {
            try logins.checkIsUnlocked()
            keys = try ask()
        } else {
            let input = try console.readInput(atMost: ClientsTool.maximumByteCount)
            keys = try AWSKeySet(parsing: input, called: "the input")
        }
        var attributes = attributes
        attributes[.label] = .text("AWS credentials (\(profile))")
        try logins.store(.genericPassword, attributes, keys.encoded)
    }

    private func ask() throws(CLIError) -> AWSKeySet {
        if let refusal = console.refusalToAsk {
            throw .usage("cannot ask for the keys: \(refusal)", hint: "pipe in JSON")
        }
        let id = try console.askTwice("Access key ID")
        let secret = try console.askTwice("Secret access key")
        guard id.isUTF8, secret.isUTF8, id.byteCount > 0, secret.byteCount > 0 else {
            throw .usage("a key is empty or not UTF-8: nothing was stored")
        }
        return AWSKeySet(id: id, secret: secret)
    }

    /// Removes the keys.
    func remove() throws(CLIError) {
        try logins.delete(try item())
    }
}

/// An access key, and for temporary keys what belongs to it.
private struct AWSKeySet {
    let id: SecretValue
    let secret: SecretValue
    let token: SecretValue?
    /// As AWS writes it: ISO 8601.
    let expiration: SecretValue?
    /// The same in seconds since 1970.
    let end: Int64?

    init(id: SecretValue, secret: SecretValue) {
        self.id = id
        self.secret = secret
        (token, expiration, end) = (nil, nil, nil)
    }

    /// Reads the output of a credential_process, of `aws sts` or of `aws iam create-access-key`.
    init(parsing text: SecretValue, called name: String) throws(CLIError) {
        var members: [String: SecretValue] = [:]
        var end: Int64 = 0
        // SQLite reads ISO 8601, but other times as well.
        try JSONDocument(text, called: name).forEachRow(
            """
            SELECT key, atom, iif(key = 'Expiration' AND atom GLOB '????-??-??T??:??:??*',
                CAST(strftime('%s', atom) AS INTEGER), 0),
                iif(key = 'Version', type = 'integer' AND atom = 1, type = 'text')
            FROM document, json_tree(document.text)
            WHERE json_tree.path IN ('$', '$.Credentials', '$.AccessKey')
                AND key IN ('AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration',
                    'Version')
                AND json_tree.type <> 'null'
            """
        ) { row throws(CLIError) in
            guard let key = try row.text(0) else { return }
            // Without its Expiration a temporary key would be returned for ever.
            guard row.number(3) == 1 else {
                throw .usage(
                    "\(name) has a \(key) that is not "
                        + (key == "Version" ? "the number 1" : "a string"))
            }
            guard members[key] == nil else { throw .usage("\(name) has two members \(key)") }
            members[key] = try row.secret(1)
            if key == "Expiration" { end = row.number(2) }
        }
        try self.init(members, end, called: name)
    }

    /// - Parameter end: 0 for an Expiration that is not ISO 8601.
    private init(
        _ members: [String: SecretValue], _ end: Int64, called name: String
    ) throws(CLIError) {
        guard let id = members["AccessKeyId"], let secret = members["SecretAccessKey"],
            id.byteCount > 0, secret.byteCount > 0
        else {
            throw .usage(
                "\(name) has no AccessKeyId or no SecretAccessKey, or an empty one",
                hint: "expected the output of a credential_process, of 'aws sts' or of 'aws iam "
                    + "create-access-key'")
        }
        (self.id, self.secret) = (id, secret)
        (token, expiration) = (members["SessionToken"], members["Expiration"])
        self.end = expiration == nil ? nil : end
        guard expiration == nil || end > 0 else {
            throw .usage("\(name) has an Expiration that is not ISO 8601")
        }
    }

    /// The object that a credential_process writes.
    var encoded: SecretValue {
        var text = SecretText()
        text.append("{\"Version\":1")
        let members = [
            ("AccessKeyId", id), ("SecretAccessKey", secret), ("SessionToken", token),
            ("Expiration", expiration),
        ]
        for case (let name, let value?) in members {
            text.append(",\"\(name)\":")
            value.withBytes { text.appendJSONString($0) }
        }
        text.append("}")
        return text.value()
    }
}
