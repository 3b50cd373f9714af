// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The declarations of an application about itself, in a property list with the keys of Apple's
/// entitlements. ``IdentityResolver`` reads it.
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
        var seen: Set<AccessGroup> = []
        let groups = names.map { AccessGroup($0) }.filter { seen.insert($0).inserted }
        return groups.filter { $0 != .token } + groups.filter { $0 == .token }
    }
}

extension Entitlements {
    /// Reads a property list. Keys that are not about the keychain do not matter.
    ///
    /// - Throws: `invalidRequest` if it is not a property list, or if a value has a wrong type, is
    ///   empty, or contains a build setting that was not replaced.
    init(propertyList bytes: [UInt8], path: String) throws(KeychainFailure) {
        let file = try DeclarationFile(bytes, path: path)
        let identifier = try file.text("application-identifier")
        let macIdentifier = try file.text("com.apple.application-identifier")
        applicationIdentifier = identifier ?? macIdentifier
        keychainGroups = try file.texts("keychain-access-groups")
        associatedIdentifiers = try file.texts(
            "com.apple.developer.associated-application-identifier")
        applicationGroups = try file.texts("com.apple.security.application-groups")
        if let applicationIdentifier { try file.check(applicationIdentifier) }
        for name in keychainGroups + associatedIdentifiers + applicationGroups {
            try file.check(name)
        }
    }
}

/// A property list that declares something about an application, and what is wrong with it.
struct DeclarationFile {
    private let values: [String: PropertyList]
    private let path: String

    /// - Throws: `invalidRequest` unless `bytes` are a property list with a dictionary.
    init(_ bytes: [UInt8], path: String) throws(KeychainFailure) {
        self.path = path
        do throws(SystemError) {
            guard case .dictionary(let values) = try PropertyList(bytes) else {
                throw .propertyList(.malformed)
            }
            self.values = values
        } catch {
            let message =
                switch error.code {
                case .unsupported:
                    "this is a binary property list: convert it to XML, with `plistutil -i FILE "
                        + "-o FILE -f xml`, or `plutil -convert xml1 FILE` on macOS"
                case .tooLarge: "this property list is nested too deeply"
                default: "this is not a property list with a dictionary"
                }
            throw Self.invalid(message, path)
        }
    }

    /// The text under `key`; nil if the file does not have the key.
    func text(_ key: String) throws(KeychainFailure) -> String? {
        switch values[key] {
        case nil: return nil
        case .text(let text): return text
        case .array, .dictionary, .other: throw wrongType(key)
        }
    }

    /// The texts under `key`; none if the file does not have the key.
    func texts(_ key: String) throws(KeychainFailure) -> [String] {
        switch values[key] {
        case nil: return []
        case .array(let values):
            return try values.map { (value) throws(KeychainFailure) in
                guard case .text(let text) = value else { throw wrongType(key) }
                return text
            }
        case .text, .dictionary, .other: throw wrongType(key)
        }
    }

    /// Throws `invalidRequest` for a name that names nothing.
    func check(_ name: String) throws(KeychainFailure) {
        if name.isEmpty { throw Self.invalid("a name is empty", path) }
        // As in `$(AppIdentifierPrefix)`, which Apple's tools replace when they sign.
        if name.hasPart("$(") {
            throw Self.invalid("a name contains a variable that was not replaced", path)
        }
    }

    private func wrongType(_ key: String) -> KeychainFailure {
        Self.invalid("\(key) is of a wrong type", path)
    }

    private static func invalid(_ message: String, _ path: String) -> KeychainFailure {
        KeychainFailure(
            .invalidRequest, during: IdentityResolver.operation, message: message, path: path)
    }
}
