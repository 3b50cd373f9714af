// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing

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

    static func attributes(_ profile: String) -> ItemAttributes {
        [.service: service, .account: .text(profile)]
    }

    /// The label that lists of items show.
    static func label(_ profile: String) -> AttributeValue {
        .text("AWS credentials (\(profile))")
    }

    /// The items of the profile, the newest first; at least one. There may be one of this device
    /// and a shared one, or some in several groups.
    private func items() throws(CLIError) -> [StoredItem] {
        let items = try logins.items(.genericPassword, Self.attributes(profile))
        guard !items.isEmpty else {
            throw CLIError(
                .notFound, "no AWS keys with the name \(quoted(profile))",
                hint: "'valet aws-credentials store' stores them")
        }
        return items
    }

    func write() throws(CLIError) {
        guard let value = try logins.value(of: try items()[0]) else {
            throw CLIError(.notFound, "the keys \(quoted(profile)) have no value")
        }
        let keys = try AWSKeySet(parsing: value, called: "the stored value")
        if let end = keys.end, end.seconds <= Int64(time(nil)) {
            throw CLIError(
                .failure, "the keys \(quoted(profile)) have expired",
                hint: "'valet aws-credentials store' stores new ones")
        }
        try console.write(keys.encoded)
        try console.write("\n")
    }

    func store() throws(CLIError) {
        let keys: AWSKeySet
        if console.isInputTerminal {
            try logins.checkIsUnlocked()
            keys = try ask()
        } else {
            let input = try console.readInput(atMost: ClientVerb.maximumByteCount)
            let text = try InputText.decoded(input, "the input")
            keys = try AWSKeySet(parsing: text, called: "the input")
        }
        var attributes = Self.attributes(profile)
        attributes[.label] = Self.label(profile)
        try logins.store(.genericPassword, attributes, keys.encoded)
    }

    private func ask() throws(CLIError) -> AWSKeySet {
        if let refusal = console.refusalToAsk {
            throw .usage("cannot ask for the keys: \(refusal)", hint: "pipe in JSON")
        }
        let id = try console.askTwice("Access key ID")
        let secret = try console.askTwice("Secret access key")
        guard let keys = AWSKeySet(id: id, secret: secret) else {
            throw .usage("a key is empty or not UTF-8: nothing was stored")
        }
        return keys
    }

    func remove() throws(CLIError) {
        // Whatever stayed would be the keys from now on.
        try logins.retrying { () throws(CLIError) in try logins.delete(try items()) }
    }
}
