// SPDX-License-Identifier: Apache-2.0

// Which items a verb works on: the application, the access group, the valet and its accessibility.
// `ItemOptions` makes these values from a command line.

package import ValetKeychainModel

/// The application that a verb works for.
package struct Requester: Hashable, Sendable {
    /// nil for the command's own.
    package var application: String?
    /// A shared group that the application is assumed to have.
    package var group: AccessGroup?

    /// The application that owns the items by default.
    static let defaultApplication = "valet"
}

/// The valet that a verb works on.
package struct Scope: Hashable, Sendable {
    /// The application, and the group.
    package var requester = Requester()
    /// nil for the valet of a shared group that has no identifier.
    var identifier: String?
    /// When the secrets can be read.
    package var accessibility = ProtectionClass.whenUnlocked
    /// Whether devices share the secrets.
    package var isCloud = false

    /// The valet of verbs without options.
    package static let ofCommand = Scope(identifier: "default")

    /// The items of the valet.
    package var service: PasswordService {
        let identity = ValetIdentity(
            identifier: identifier, group: requester.group.map { ValetIdentity.Group($0) },
            accessibility: accessibility)
        return (isCloud ? identity.synchronized : identity).items
    }

    /// The item with that key.
    func name(_ key: String) -> PasswordName { PasswordName(key, in: service) }
}

extension Scope {
    /// The valet in messages, with the application that `keychain` is opened for.
    func place(of keychain: any ItemAccess) -> String {
        requester.group == nil
            ? "\(self) of application \(quoted(keychain.applicationIdentifier))" : "\(self)"
    }
}

extension Scope: CustomStringConvertible {
    /// The valet in messages that are about one application.
    package var description: String {
        switch (requester.group, identifier) {
        case (nil, let identifier): "valet \(quoted(identifier ?? ""))"
        case (let group?, nil): "group \(quoted(group.rawValue))"
        case (let group?, let identifier?):
            "valet \(quoted(identifier)) of group \(quoted(group.rawValue))"
        }
    }
}

extension ProtectionClass {
    /// The accessibilities that the command offers; the others are retired.
    static let offered: [ProtectionClass] = [
        .whenUnlocked, .afterFirstUnlock, .whenPasscodeSetThisDeviceOnly,
        .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly,
    ]

    /// The accessibility in options and lists: the stored name in lower case with hyphens,
    /// `when-unlocked`.
    package var word: String { Self.words[self] ?? storedName }

    private static let words = Dictionary(
        uniqueKeysWithValues: allCases.map { protectionClass in
            let name = protectionClass.storedName.dropFirst("Accessible".count)
            let word = name.reduce(into: "") { word, letter in
                if letter.isUppercase, !word.isEmpty { word += "-" }
                word += letter.lowercased()
            }
            return (protectionClass, word)
        })

    /// The offered accessibility with this word; nil for other texts.
    package init?(word: String) {
        guard let match = Self.offered.first(where: { $0.word == word }) else { return nil }
        self = match
    }
}
