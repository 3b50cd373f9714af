// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// The identity of a valet: its name, accessibility and kind. Gives the service, group and class of
/// its items.
struct Configuration: Hashable, Sendable {
    /// How the service of a valet's items is named.
    enum Naming: Hashable, Sendable {
        case standard(Identifier)
        case sharedGroup(SharedGroupIdentifier, Identifier?)
        case explicit(Identifier)
        case explicitSharedGroup(SharedGroupIdentifier)
    }

    /// Whether the items are synchronized, and what reading them demands.
    enum Kind: Hashable, Sendable {
        case local
        case cloud
        case enclave(SecureEnclaveAccessControl)
        case singlePromptEnclave(SecureEnclaveAccessControl)
    }

    let naming: Naming
    let accessibility: Accessibility
    let kind: Kind

    /// A valet whose items stay on this machine.
    init(_ naming: Naming, _ accessibility: Accessibility) {
        self.naming = naming
        self.accessibility = accessibility
        kind = .local
    }

    /// A valet whose items iCloud synchronizes.
    init(cloud naming: Naming, _ accessibility: CloudAccessibility) {
        self.naming = naming
        self.accessibility = accessibility.accessibility
        kind = .cloud
    }

    /// A valet whose items only the present user can read. Its naming must not be explicit.
    init(enclave naming: Naming, _ accessControl: SecureEnclaveAccessControl, asksOnce: Bool) {
        self.naming = naming
        accessibility = .whenPasscodeSetThisDeviceOnly
        kind = asksOnce ? .singlePromptEnclave(accessControl) : .enclave(accessControl)
    }

    var isCloud: Bool { kind == .cloud }

    /// The identifier of the valet; for shared groups without one, the group's full name, with its
    /// prefix.
    var identifier: Identifier {
        switch naming {
        case .standard(let identifier), .explicit(let identifier): identifier
        case .sharedGroup(let group, let identifier): identifier ?? group.asIdentifier
        case .explicitSharedGroup(let group): group.asIdentifier
        }
    }

    var sandbox: PasswordService {
        PasswordService(
            service: service(accessibilityName), accessGroup: accessGroup,
            isSynchronizable: isCloud, protectionClass: accessibility.protectionClass)
    }

    /// The service of items whose accessibility has that description.
    func service(_ accessibility: String) -> String {
        switch naming {
        case .standard(let identifier):
            ServiceName.standard(
                serviceKind, identifier: identifier.description, accessibility: accessibility)
        case .sharedGroup(let group, let identifier):
            ServiceName.sharedGroup(
                serviceKind, group: group.group.description, identifier: identifier?.description,
                accessibility: accessibility)
        case .explicit(let identifier): identifier.description
        case .explicitSharedGroup(let group): group.group.description
        }
    }

    /// The accessibility in the form of stored services: with the access control, if there is one.
    private var accessibilityName: String {
        switch kind {
        case .local, .cloud: accessibility.description
        case .enclave(let control), .singlePromptEnclave(let control):
            accessibility.description + control.description
        }
    }

    private var serviceKind: ServiceName.Kind {
        switch kind {
        case .local: .valet
        case .cloud: .synchronizableValet
        case .enclave: .secureEnclaveValet
        case .singlePromptEnclave: .singlePromptSecureEnclaveValet
        }
    }

    private var accessGroup: AccessGroup? {
        switch naming {
        case .standard, .explicit: nil
        case .sharedGroup(let group, _), .explicitSharedGroup(let group):
            AccessGroup(group.description)
        }
    }
}
