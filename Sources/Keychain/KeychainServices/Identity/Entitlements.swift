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

    /// The groups in order: the first is the default (spec/secitem.md §5.1).
    func accessGroups(applicationIdentifier: String) -> [AccessGroup] {
        Self.ordered(
            keychainGroups + associatedIdentifiers + [applicationIdentifier] + applicationGroups)
    }

    /// The groups without duplicates, and the group of tokens last.
    static func ordered(_ names: [String]) -> [AccessGroup] {
        var seen: Set<AccessGroup> = []
        let groups = names.map { AccessGroup($0) }.filter { seen.insert($0).inserted }
        return groups.filter { $0 != .token } + groups.filter { $0 == .token }
    }
}

extension Entitlements {
    /// Reads a property list. Keys that are not about the keychain are ignored.
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
