// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetSealing

// Passwords that other helpers of git, docker and AWS keep become items that the helpers here find.

extension ImportedItem {
    /// docker's password for a registry; nil for text that is not the address of one.
    init?(
        dockerAt url: String, account: String, _ value: SecretValue, from source: String
    ) {
        guard let item = try? DockerCredentials.attributes(of: url), !account.isEmpty else {
            return nil
        }
        self.init(.internetPassword, item, value, from: source)
        attributes[.account] = .text(account)
        attributes[.comment] = .text(url)
        attributes[.authenticationType] = .text("")
        attributes[.securityDomain] = .text("")
    }

    /// A password of Git Credential Manager, which names it by a service such as
    /// `git:https://example.com/path`; nil for other services.
    ///
    /// - Parameter isAnyNamespace: Whether another word may stand before the first colon
    ///   (`credential.namespace`).
    init?(
        gitService service: String, isAnyNamespace: Bool = false, account: String,
        _ value: SecretValue, from source: String
    ) {
        guard let colon = service.firstIndex(of: ":"), isAnyNamespace || service[..<colon] == "git",
            let address = LoginAddress(String(service[service.index(after: colon)...])),
            address.scheme == "https" || address.scheme == "http", !address.hasUser,
            let place = LoginPlace(address, path: address.path)
        else { return nil }
        self.init(place, account: account, kind: .standard, value, from: source)
    }

    init(profile: String, _ keys: AWSKeySet, from source: String) {
        self.init(.genericPassword, AWSKeys.attributes(profile), keys.encoded, from: source)
        attributes[.label] = AWSKeys.label(profile)
    }
}

extension LoginAddress {
    /// The path, without slashes at its start and end, as git names it.
    var path: String {
        var path = rest.utf8.prefix { !"?#".utf8.contains($0) }.drop { $0 == UInt8(ascii: "/") }
        while path.last == UInt8(ascii: "/") { path.removeLast() }
        return String(decoding: path, as: UTF8.self)
    }
}
