// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing

/// The passwords in docker's `config.json`, which podman's `auth.json` and secrets of Kubernetes
/// have, too. The older `.dockercfg` is the object below "auths".
enum DockerConfig {
    /// The items: each registry becomes a password as `docker-credential-valet` stores it.
    static func items(in text: SecretValue) throws(CLIError) -> ImportedItems {
        let document = try JSONDocument(text, called: "the configuration")
        var found = ImportedItems()
        var registries: [Registry] = []
        var places: [String: Int] = [:]
        try document.forEachRow(
            """
            SELECT entry.key, member.key, iif(member.type = 'text', member.atom, NULL)
            FROM document,
                json_each(text, iif(json_type(text, '$.auths') IS NULL, '$', '$.auths')) AS entry
                LEFT JOIN json_each(iif(entry.type = 'object', entry.value, '{}')) AS member
            WHERE entry.type = 'object'
                AND (json_type(text, '$.auths') IS NOT NULL OR
                    json_type(entry.value, '$.auth') = 'text')
            """
        ) { row throws(CLIError) in
            let url = try row.text(0) ?? ""
            let place = places[url] ?? registries.count
            if place == registries.count {
                registries.append(Registry(url: url))
                places[url] = place
            }
            if let member = try row.text(1), let value = try row.secret(2) {
                registries[place].members[member] = value
            }
        }
        for registry in registries { try registry.add(to: &found) }
        try nameOthers(document, &found)
        return found
    }

    /// Names entries that are not imported.
    private static func nameOthers(
        _ document: JSONDocument, _ found: inout ImportedItems
    ) throws(CLIError) {
        try document.forEachRow(
            """
            SELECT key, atom FROM document, json_each(text, '$.credHelpers')
            UNION ALL SELECT 'all other registries', json_extract(text, '$.credsStore')
            FROM document WHERE json_type(text, '$.credsStore') = 'text'
            UNION ALL SELECT 'HttpHeaders', NULL
            FROM document WHERE json_type(text, '$.HttpHeaders') = 'object'
            """
        ) { row throws(CLIError) in
            let helper = try row.text(1).map { "the helper \(quoted($0)) keeps its passwords" }
            found.skip(try row.text(0) ?? "", helper ?? "headers are not imported")
        }
    }

    /// An entry of "auths".
    private struct Registry {
        let url: String
        var members: [String: SecretValue] = [:]

        /// docker's name for the account of an identity token.
        private static let tokenAccount = "<token>"

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
                // docker passes over null bytes at the end.
                var end = bytes.count
                while end > colon + 1, bytes[end - 1] == 0 { end -= 1 }
                let secret = SecretValue(copying: bytes.extracting((colon + 1)..<end))
                return secret.isUTF8 ? (account, secret) : nil
            }
        }
    }
}
