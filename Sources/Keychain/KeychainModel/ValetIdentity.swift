// SPDX-License-Identifier: Apache-2.0

/// The identity of a valet: its name, accessibility and kind, from which the service, group and
/// class of its items follow. `Valet`, the `valet` command and the C interface make one each.
package struct ValetIdentity: Sendable {
    package struct Group: Sendable {
        /// The whole name, with its prefix.
        package let accessGroup: AccessGroup
        package let nameWithoutPrefix: String

        package init(prefix: String, _ name: String) {
            accessGroup = AccessGroup(prefix + "." + name)
            nameWithoutPrefix = name
        }

        /// The group with that whole name, whose prefix ends at the first dot; without a dot it has
        /// no prefix.
        package init(_ accessGroup: AccessGroup) {
            self.accessGroup = accessGroup
            // By bytes: a dot and a mark after it are one character.
            let name = accessGroup.rawValue.utf8
            let start =
                name.firstIndex(of: UInt8(ascii: ".")).map(name.index(after:)) ?? name.startIndex
            nameWithoutPrefix = String(Substring(name[start...]))
        }
    }

    /// Local, synchronized, or one of the two enclave kinds, whose values require presence.
    package var kind: ServiceName.Kind
    /// nil if a valet of a group has no identifier of its own.
    package var identifier: String?
    /// nil for a valet of one application.
    package var group: Group?
    /// Whether the service is the group's name without prefix or, without a group, the identifier.
    package var isExplicit: Bool
    package var accessibility: ProtectionClass
    /// What reading demands; nil for the kinds that demand nothing.
    package var demand: EnclaveDemand?

    package init(
        identifier: String?, group: Group? = nil, isExplicit: Bool = false,
        accessibility: ProtectionClass
    ) {
        kind = .valet
        self.identifier = identifier
        self.group = group
        self.isExplicit = isExplicit
        self.accessibility = accessibility
    }

    package init(
        identifier: String?, group: Group? = nil, enclave demand: EnclaveDemand, asksOnce: Bool
    ) {
        self.init(
            identifier: identifier, group: group, accessibility: .whenPasscodeSetThisDeviceOnly)
        kind = asksOnce ? .singlePromptSecureEnclaveValet : .secureEnclaveValet
        self.demand = demand
    }

    package var synchronized: ValetIdentity {
        var identity = self
        identity.kind = .synchronizableValet
        return identity
    }

    /// The valet with the same name and accessibility whose values demand nothing.
    package var plain: ValetIdentity {
        guard demand != nil else { return self }
        return ValetIdentity(identifier: identifier, group: group, accessibility: accessibility)
    }

    package var items: PasswordService { items(accessibility) }

    package func items(_ accessibility: ProtectionClass) -> PasswordService {
        PasswordService(
            service: service(accessibility), accessGroup: group?.accessGroup,
            isSynchronizable: kind == .synchronizableValet, protectionClass: accessibility)
    }

    package func item(_ key: String) -> NewItem {
        var item = items.item(key)
        item.accessControl = demand?.accessControl
        return item
    }

    package func service(_ accessibility: ProtectionClass) -> String {
        let name = accessibility.storedName + (demand?.storedName ?? "")
        switch (isExplicit, group) {
        case (true, let group): return group?.nameWithoutPrefix ?? identifier ?? ""
        case (false, let group?):
            return ServiceName.sharedGroup(
                kind, group: group.nameWithoutPrefix, identifier: identifier, accessibility: name)
        case (false, nil):
            return ServiceName.standard(kind, identifier: identifier ?? "", accessibility: name)
        }
    }
}

/// How the user authenticates before a value of an enclave valet is read. The raw values are those
/// of `SecureEnclaveAccessControl` and of `valet.h`.
package enum EnclaveDemand: Int, CaseIterable, Hashable, Sendable {
    case userPresence = 1
    case biometricAny = 2
    case biometricCurrentSet = 3
    case devicePasscode = 4

    /// The name at the end of a valet's service name. Stored, so it never changes: docs/FORMAT.md
    /// §8.1.
    package var storedName: String {
        switch self {
        case .userPresence: ""
        case .biometricAny: "_AccessControlTouchIDAnyFingerprint"
        case .biometricCurrentSet: "_AccessControlTouchIDCurrentFingerprintSet"
        case .devicePasscode: "_AccessControlDevicePasscode"
        }
    }

    package var takesBiometry: Bool {
        switch self {
        case .biometricAny, .biometricCurrentSet: true
        case .userPresence, .devicePasscode: false
        }
    }

    package var accessControl: AccessControl {
        let constraint: AccessControl.Constraints =
            switch self {
            case .userPresence: .userPresence
            case .biometricAny: .biometryAny
            case .biometricCurrentSet: .biometryCurrentSet
            case .devicePasscode: .devicePasscode
            }
        do {
            return try AccessControl(.whenPasscodeSetThisDeviceOnly, constraint)
        } catch {
            preconditionFailure("one constraint alone contradicts nothing")
        }
    }
}

/// The version of this package: what `valet --version` and `valet_version` name.
package enum Version {
    package static let numbers: (major: Int32, minor: Int32, patch: Int32) = (0, 1, 0)

    package static var current: String { "\(numbers.major).\(numbers.minor).\(numbers.patch)" }

    /// The version, and the commit that a packaged program was built from.
    package static var description: String {
        let build = build.split(separator: "|").first ?? ""
        return "\(current) (\(build))"
    }

    /// `scripts/package` writes commit and date over these 48 characters in the linked program,
    /// which then needs no new compilation.
    private static let build = "development build|||||||||||||||||||||||||||||||"
}
