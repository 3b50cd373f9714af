// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// What an application declares about itself in a property list of Apple's form.
struct Entitlements: Hashable {
    var applicationIdentifier: String?
    var keychainGroups: [String] = []
    var associatedIdentifiers: [String] = []
    var applicationGroups: [String] = []

    /// The groups in the order that makes the first the default (spec/secitem.md §5.1).
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
        let contents = try Self.decoded(Contents.self, from: bytes, path: path)
        applicationIdentifier = contents.applicationIdentifier ?? contents.macIdentifier
        keychainGroups = contents.keychainGroups ?? []
        associatedIdentifiers = contents.associatedIdentifiers ?? []
        applicationGroups = contents.applicationGroups ?? []
        let names = keychainGroups + associatedIdentifiers + applicationGroups
        for name in names + [applicationIdentifier].compactMap({ $0 }) {
            try Self.check(name, path)
        }
    }

    /// The values of a property list, unless it is nested so deeply that decoding it is dangerous.
    static func decoded<Value: Decodable>(
        _ type: Value.Type, from bytes: Data, path: String
    ) throws(KeychainFailure) -> Value {
        guard PropertyListShape.isDecodable([UInt8](bytes)) else {
            throw invalid("this property list is nested too deeply, or damaged", path)
        }
        do {
            return try PropertyListDecoder().decode(type, from: bytes)
        } catch {
            throw invalid(message(for: error), path)
        }
    }

    /// The file's own keys.
    private struct Contents: Decodable {
        var applicationIdentifier: String?
        var macIdentifier: String?
        var keychainGroups: [String]?
        var associatedIdentifiers: [String]?
        var applicationGroups: [String]?

        enum CodingKeys: String, CodingKey {
            case applicationIdentifier = "application-identifier"
            case macIdentifier = "com.apple.application-identifier"
            case keychainGroups = "keychain-access-groups"
            case associatedIdentifiers = "com.apple.developer.associated-application-identifier"
            case applicationGroups = "com.apple.security.application-groups"
        }
    }

    private static func message(for error: any Error) -> String {
        if case DecodingError.typeMismatch(_, let context) = error,
            let key = context.codingPath.first
        {
            return "\(key.stringValue) is of a wrong type"
        }
        return "this is not a property list with a dictionary"
    }

    /// Throws `invalidRequest` for a name that names nothing.
    static func check(_ name: String, _ path: String) throws(KeychainFailure) {
        if name.isEmpty { throw invalid("a name is empty", path) }
        // As in `$(AppIdentifierPrefix)`, which Apple's tools replace when they sign.
        if name.contains("$(") { throw invalid("a name has a variable that nobody replaced", path) }
    }

    private static func invalid(_ message: String, _ path: String) -> KeychainFailure {
        KeychainFailure(
            .invalidRequest, during: IdentityResolver.operation, message: message, path: path)
    }
}
