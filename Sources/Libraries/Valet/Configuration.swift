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

    init(_ naming: Naming, _ accessibility: Accessibility) {
        self.naming = naming
        self.accessibility = accessibility
        kind = .local
    }

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

    var sandbox: PasswordService { identity.items }

    var identity: ValetIdentity {
        let name = naming.name
        switch kind {
        case .local, .cloud:
            let identity = ValetIdentity(
                identifier: name.identifier?.description, group: name.group?.shared,
                isExplicit: name.isExplicit, accessibility: accessibility.protectionClass)
            return isCloud ? identity.synchronized : identity
        case .enclave(let control), .singlePromptEnclave(let control):
            return ValetIdentity(
                identifier: name.identifier?.description, group: name.group?.shared,
                enclave: control.demand, asksOnce: kind == .singlePromptEnclave(control))
        }
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

extension SharedGroupIdentifier {
    fileprivate var shared: ValetIdentity.Group {
        ValetIdentity.Group(prefix: prefix, group.description)
    }
}
