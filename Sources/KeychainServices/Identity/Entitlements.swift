// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainModel

/// What an application declares about itself in a property list of Apple's form.
struct Entitlements: Hashable {
    var applicationIdentifier: String?
    var keychainGroups: [String] = []
    var associatedIdentifiers: [String] = []
    var applicationGroups: [String] = []

    /// The groups in the order that makes the first the default (keychain-semantics §5.1).
    func accessGroups(applicationIdentifier: String) -> [AccessGroup] {
        Self.ordered(
            keychainGroups + associatedIdentifiers + [applicationIdentifier] + applicationGroups)
    }

    /// The groups without repetition, and the group of tokens last.
    static func ordered(_ names: [String]) -> [AccessGroup] {
        var seen: Set<String> = []
        let groups = names.filter { seen.insert($0).inserted }.map { AccessGroup($0) }
        return groups.filter { $0 != .token } + groups.filter { $0 == .token }
    }
}

extension Entitlements {
    /// Reads a property list; keys that are not about the keychain do not matter.
    ///
    /// - Throws: `invalidRequest` if it is not a property list, or a value is of a wrong type,
    ///   empty, or a build setting that was never replaced.
    init(propertyList bytes: Data, path: String) throws(KeychainFailure) {
        let contents = try? PropertyListSerialization.propertyList(from: bytes, format: nil)
        guard let contents = contents as? [String: Any] else {
            throw Self.invalid("this is not a property list with a dictionary", path)
        }
        applicationIdentifier =
            try Self.string("application-identifier", in: contents, path)
            ?? Self.string("com.apple.application-identifier", in: contents, path)
        keychainGroups = try Self.strings("keychain-access-groups", in: contents, path)
        associatedIdentifiers = try Self.strings(
            "com.apple.developer.associated-application-identifier", in: contents, path)
        applicationGroups = try Self.strings(
            "com.apple.security.application-groups", in: contents, path)
    }

    private static func string(
        _ key: String, in contents: [String: Any], _ path: String
    ) throws(KeychainFailure) -> String? {
        guard let value = contents[key] else { return nil }
        guard let text = value as? String else { throw invalid("\(key) is not a string", path) }
        return try checked(text, key, path)
    }

    private static func strings(
        _ key: String, in contents: [String: Any], _ path: String
    ) throws(KeychainFailure) -> [String] {
        guard let value = contents[key] else { return [] }
        guard let texts = value as? [String] else {
            throw invalid("\(key) is not an array of strings", path)
        }
        for text in texts { _ = try checked(text, key, path) }
        return texts
    }

    private static func checked(
        _ text: String, _ key: String, _ path: String
    ) throws(KeychainFailure) -> String {
        if text.isEmpty { throw invalid("\(key) has an empty string", path) }
        // As in `$(AppIdentifierPrefix)`, which Apple's tools replace when they sign.
        if text.contains("$(") { throw invalid("\(key) has a variable that nobody replaced", path) }
        return text
    }

    private static func invalid(_ message: String, _ path: String) -> KeychainFailure {
        KeychainFailure(
            .invalidRequest, during: IdentityResolver.operation, message: message, path: path)
    }
}
