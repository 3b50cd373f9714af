// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing

/// The passwords in docker's `config.json`. podman's `auth.json` and secrets of Kubernetes have the
/// same format. The older `.dockercfg` is the object below "auths".
enum DockerConfig {
    /// The items: each registry becomes a password as `docker-credential-valet` stores it.
    static func items(in text: SecretValue) throws(CLIError) -> ImportedItems {
        var (registries, older) = ([Registry](), [Registry]())
        var (isOlder, hasHeaders) = (true, false)
        var helpers: [(registries: String, name: String)] = []
        var (store, ofKubernetes) = (SecretValue?.none, SecretValue?.none)
        var reader = try JSONReader(text, called: "the configuration")
        try reader.document { (name, reader) throws(CLIError) in
            switch (name, reader.kind) {
            case ("auths", let kind):
                isOlder = false
                guard kind == .object else { return }
                try reader.object { (url, reader) throws(CLIError) in
                    if let registry = try Registry(url, &reader) { registries.append(registry) }
                }
            case ("credHelpers", .object):
                try reader.object { (url, reader) throws(CLIError) in
                    guard reader.kind == .string else { return }
                    helpers.append((url, try reader.string().publicText ?? ""))
                }
            case ("credsStore", .string): store = try reader.string()
            case ("data", .object):
                ofKubernetes = try configuration(ofKubernetes: &reader)
            case ("HttpHeaders", .object): hasHeaders = true
            default: if let registry = try Registry(name, &reader) { older.append(registry) }
            }
        }
        if let ofKubernetes { return try items(in: ofKubernetes) }
        var found = ImportedItems()
        let read = isOlder ? older.filter { $0.members["auth"] != nil } : registries
        for registry in read { try registry.add(to: &found) }
        if let store { helpers.append(("all other registries", store.publicText ?? "")) }
        for (source, name) in helpers {
            found.skip(source, "the helper \(quoted(name)) keeps its passwords")
        }
        if hasHeaders { found.skip("HttpHeaders", "headers are not imported") }
        return found
    }

    /// The configuration in the data of a secret of the types `kubernetes.io/dockerconfigjson` and
    /// `kubernetes.io/dockercfg`.
    private static func configuration(
        ofKubernetes reader: inout JSONReader
    ) throws(CLIError) -> SecretValue {
        var found: SecretValue?
        try reader.object { (name, reader) throws(CLIError) in
            guard [".dockerconfigjson", ".dockercfg"].contains(name), reader.kind == .string else {
                return
            }
            guard let text = try reader.string().withBytes({ Base64.decoded($0) }) else {
                throw CLIError(.damaged, "\(quoted(name)) is not base64")
            }
            found = text
        }
        guard let found else {
            throw CLIError(.damaged, "the secret of Kubernetes has no password of a registry")
        }
        return found
    }

    /// An entry of "auths".
    private struct Registry {
        let url: String
        /// The members that are strings.
        let members: [String: SecretValue]

        /// docker's name for the account of an identity token.
        private static let tokenAccount = "<token>"

        /// Reads an entry; nil for one that is not an object.
        init?(_ url: String, _ reader: inout JSONReader) throws(CLIError) {
            guard reader.kind == .object else { return nil }
            self.url = url
            var members: [String: SecretValue] = [:]
            try reader.object { (name, reader) throws(CLIError) in
                if reader.kind == .string { members[name] = try reader.string() }
            }
            self.members = members
        }

        func add(to found: inout ImportedItems) throws(CLIError) {
            if hasSecret("registrytoken") { found.skip(url, "registry tokens are not imported") }
            let account: String
            let secret: SecretValue
            if hasSecret("identitytoken"), let token = members["identitytoken"] {
                (account, secret) = (Self.tokenAccount, token)
            } else if hasSecret("auth"), let auth = members["auth"] {
                guard let login = Self.login(auth) else {
                    return found.skip(url, "its member 'auth' is not base64 of USER:PASSWORD")
                }
                (account, secret) = login
            } else if hasSecret("password"), let password = members["password"] {
                (account, secret) = (members["username"]?.publicText ?? "", password)
            } else {
                return found.skip(url, "it has no password here")
            }
            guard
                let item = ImportedItem(dockerAt: url, account: account, secret, from: url)
            else { return found.skip(url, "it is not the address of a registry with a user name") }
            try found.add(item)
        }

        private func hasSecret(_ name: String) -> Bool { (members[name]?.byteCount ?? 0) > 0 }

        /// The user name and the password of `USER:PASSWORD` in base64.
        private static func login(
            _ encoded: SecretValue
        ) -> (account: String, secret: SecretValue)? {
            guard let decoded = encoded.withBytes({ Base64.decoded($0) }) else { return nil }
            return decoded.withBytes { bytes in
                guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0,
                    let account = bytes.extracting(0..<colon).text
                else { return nil }
                // docker ignores null bytes at the end.
                var end = bytes.count
                while end > colon + 1, bytes[end - 1] == 0 { end -= 1 }
                let secret = SecretValue(copying: bytes.extracting((colon + 1)..<end))
                return secret.isUTF8 ? (account, secret) : nil
            }
        }
    }
}
