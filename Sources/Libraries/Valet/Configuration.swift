// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// The identity of a valet in the public types: its name, accessibility and kind. Its
/// ``identity`` gives the service, group and class of its items.
struct Configuration: Hashable, Sendable {
    enum Naming: Hashable, Sendable {
        case standard(Identifier)
        case sharedGroup(SharedGroupIdentifier, Identifier?)
        case explicit(Identifier)
        case explicitSharedGroup(SharedGroupIdentifier)
    }

    let naming: Naming
    let accessibility: Accessibility
    let kind: ServiceName.Kind
    /// nil for valets without an access control.
    private let accessControl: SecureEnclaveAccessControl?

    init(_ naming: Naming, _ accessibility: Accessibility) {
        self.naming = naming
        self.accessibility = accessibility
        kind = .valet
        accessControl = nil
    }

    init(cloud naming: Naming, _ accessibility: CloudAccessibility) {
        self.naming = naming
        self.accessibility = accessibility.accessibility
        kind = .synchronizableValet
        accessControl = nil
    }

    /// A valet whose items only the present user can read. Its naming must not be explicit.
    init(enclave naming: Naming, _ accessControl: SecureEnclaveAccessControl, asksOnce: Bool) {
        self.naming = naming
        accessibility = .whenPasscodeSetThisDeviceOnly
        kind = asksOnce ? .singlePromptSecureEnclaveValet : .secureEnclaveValet
        self.accessControl = accessControl
    }

    /// The identifier of the valet; for shared groups without one, the group's full name, with its
    /// prefix.
    var identifier: Identifier {
        switch naming {
        case .standard(let identifier), .explicit(let identifier): identifier
        case .sharedGroup(let group, let identifier): identifier ?? group.asIdentifier
        case .explicitSharedGroup(let group): group.asIdentifier
        }
    }

    var sandbox: PasswordService { identity.items }

    var identity: ValetIdentity {
        let name = naming.name
        let group = name.group.map {
            ValetIdentity.Group(prefix: $0.prefix, $0.group.description)
        }
        if let accessControl {
            return ValetIdentity(
                identifier: name.identifier?.description, group: group,
                enclave: accessControl.demand, asksOnce: kind == .singlePromptSecureEnclaveValet)
        }
        var identity = ValetIdentity(
            identifier: name.identifier?.description, group: group, isExplicit: name.isExplicit,
            accessibility: accessibility.protectionClass)
        identity.kind = kind
        return identity
    }
}

extension Configuration.Naming {
    fileprivate var name: (identifier: Identifier?, group: SharedGroupIdentifier?, isExplicit: Bool)
    {
        switch self {
        case .standard(let identifier): (identifier, nil, false)
        case .sharedGroup(let group, let identifier): (identifier, group, false)
        case .explicit(let identifier): (identifier, nil, true)
        case .explicitSharedGroup(let group): (nil, group, true)
        }
    }
}
