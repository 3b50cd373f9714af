// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel

/// What was asked for when a valet was made.
struct Configuration: Hashable, Sendable {
    /// How the service of a valet's items is named.
    enum Naming: Hashable, Sendable {
        case standard(Identifier)
        case sharedGroup(SharedGroupIdentifier, Identifier?)
        case explicit(Identifier)
        case explicitSharedGroup(SharedGroupIdentifier)
    }

    let naming: Naming
    let accessibility: Accessibility
    let isCloud: Bool

    /// A valet whose items stay here.
    init(_ naming: Naming, _ accessibility: Accessibility) {
        self.naming = naming
        self.accessibility = accessibility
        isCloud = false
    }

    /// A valet whose items iCloud synchronizes.
    init(cloud naming: Naming, _ accessibility: CloudAccessibility) {
        self.naming = naming
        self.accessibility = accessibility.accessibility
        isCloud = true
    }

    /// What a person calls the valet: for shared groups without an identifier, the group.
    var identifier: Identifier {
        switch naming {
        case .standard(let identifier), .explicit(let identifier): identifier
        case .sharedGroup(let group, let identifier): identifier ?? group.group
        case .explicitSharedGroup(let group): group.group
        }
    }

    var sandbox: PasswordService {
        PasswordService(
            service: service(accessibility.description), accessGroup: accessGroup,
            isSynchronizable: isCloud, protectionClass: accessibility.protectionClass)
    }

    /// The service that items with an accessibility of that description have.
    func service(_ accessibility: String) -> String {
        let kind: ServiceName.Kind = isCloud ? .synchronizableValet : .valet
        return switch naming {
        case .standard(let identifier):
            ServiceName.standard(
                kind, identifier: identifier.description, accessibility: accessibility)
        case .sharedGroup(let group, let identifier):
            ServiceName.sharedGroup(
                kind, group: group.group.description, identifier: identifier?.description,
                accessibility: accessibility)
        case .explicit(let identifier): identifier.description
        case .explicitSharedGroup(let group): group.group.description
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
