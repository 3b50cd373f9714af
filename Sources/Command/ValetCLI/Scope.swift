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
    /// Whether the identifier was given. Otherwise KEY may also lead to a login.
    var isIdentifierChosen = false
    /// When new secrets can be read.
    package var accessibility = ProtectionClass.whenUnlocked
    /// Whether devices share new secrets.
    package var isCloud = false
    /// Whether the accessibility was given. Otherwise the scope has secrets of every accessibility.
    var isAccessibilityChosen = false
    /// Whether shared or local secrets were chosen. Otherwise the scope has both.
    var isCloudChosen = false

    /// The valet of verbs without options.
    package static let ofCommand = Scope(identifier: "default")

    /// The valet of new secrets.
    package var service: PasswordService { service(accessibility, isCloud: isCloud) }

    func service(_ accessibility: ProtectionClass, isCloud: Bool) -> PasswordService {
        let identity = ValetIdentity(
            identifier: identifier, group: requester.group.map { ValetIdentity.Group($0) },
            accessibility: accessibility)
        return (isCloud ? identity.synchronized : identity).items
    }

    /// All valets of that application and identifier, that of new secrets first. The command treats
    /// them as one valet, in which a name is one secret.
    package var services: [PasswordService] {
        let local = ProtectionClass.offered.map { service($0, isCloud: false) }
        let shared = ProtectionClass.offered.filter { !$0.isThisDeviceOnly }
            .map { service($0, isCloud: true) }
        let first = service
        return [first] + (local + shared).filter { $0 != first }
    }

    /// The enclave valets of that application and identifier, whose items only programs store.
    var enclaveServices: [PasswordService] {
        let services = [false, true].flatMap { asksOnce in
            EnclaveDemand.allCases.map { demand in
                ValetIdentity(
                    identifier: identifier, group: requester.group.map { ValetIdentity.Group($0) },
                    enclave: demand, asksOnce: asksOnce
                ).items
            }
        }
        return services.filter(allows)
    }

    /// Those of ``services`` that the command line allows: all, unless it chooses.
    package var chosenServices: [PasswordService] { services.filter(allows) }

    /// Whether the command line allows a secret to be there.
    package func allows(_ service: PasswordService) -> Bool {
        (!isAccessibilityChosen || service.protectionClass == accessibility)
            && (!isCloudChosen || service.isSynchronizable == isCloud)
    }

    /// The destination of a secret in `service`: the same place, with the changes on the command
    /// line.
    func destination(from service: PasswordService) -> PasswordService {
        let new = keeping(service.protectionClass, isCloud: service.isSynchronizable)
        return self.service(new.accessibility, isCloud: new.isCloud)
    }

    /// How an item is kept that was kept so, with the changes on the command line.
    func keeping(
        _ old: ProtectionClass, isCloud wasCloud: Bool
    ) -> (accessibility: ProtectionClass, isCloud: Bool) {
        var accessibility = isAccessibilityChosen ? accessibility : old
        // An accessibility for this device only excludes sharing. It ends sharing that was not
        // chosen; sharing that was chosen replaces it.
        let isCloud = isCloudChosen ? isCloud : wasCloud && !accessibility.isThisDeviceOnly
        if isCloud { accessibility = accessibility.forAnyDevice }
        return (accessibility, isCloud)
    }
}

extension Scope {
    /// The valet in messages, with the application that `keychain` is opened for.
    func place(of keychain: CommandKeychain) -> String {
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
    /// How an item is kept, in messages: "when-unlocked, on this device".
    func place(isCloud: Bool) -> String { word + (isCloud ? ", shared" : ", on this device") }
}

extension PasswordService {
    /// How its secrets are kept: "when-unlocked, on this device".
    var place: String { protectionClass.place(isCloud: isSynchronizable) }
}

extension ProtectionClass {
    /// The accessibilities that the command offers; the others are retired.
    static let offered: [ProtectionClass] = [
        .whenUnlocked, .afterFirstUnlock, .whenPasscodeSetThisDeviceOnly,
        .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly,
    ]

    /// The accessibility that a shared secret has in place of this one.
    fileprivate var forAnyDevice: ProtectionClass {
        switch self {
        case .afterFirstUnlockThisDeviceOnly: .afterFirstUnlock
        case .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly: .whenUnlocked
        default: self
        }
    }

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
