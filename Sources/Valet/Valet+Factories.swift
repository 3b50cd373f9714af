// SPDX-License-Identifier: Apache-2.0

extension Valet {
    /// The valet of that name, for this application alone.
    public class func valet(with identifier: Identifier, accessibility: Accessibility) -> Valet {
        shared(Configuration(.standard(identifier), accessibility))
    }

    /// The valet of that name, whose items iCloud synchronizes on Apple's systems.
    ///
    /// On Linux its items stay on this machine for now: nothing sends them.
    public class func iCloudValet(
        with identifier: Identifier, accessibility: CloudAccessibility
    ) -> Valet {
        shared(Configuration(cloud: .standard(identifier), accessibility))
    }

    /// The valet of an access group, for every application that has the group.
    ///
    /// With an `identifier` it is one of several valets of the group.
    public class func sharedGroupValet(
        with groupIdentifier: SharedGroupIdentifier, identifier: Identifier? = nil,
        accessibility: Accessibility
    ) -> Valet {
        shared(Configuration(.sharedGroup(groupIdentifier, identifier), accessibility))
    }

    /// The valet of an access group, whose items iCloud synchronizes on Apple's systems.
    ///
    /// With an `identifier` it is one of several valets of the group. On Linux its items stay on
    /// this machine for now: nothing sends them.
    public class func iCloudSharedGroupValet(
        with groupIdentifier: SharedGroupIdentifier, identifier: Identifier? = nil,
        accessibility: CloudAccessibility
    ) -> Valet {
        shared(Configuration(cloud: .sharedGroup(groupIdentifier, identifier), accessibility))
    }

    /// The valet whose items have `identifier`, and nothing else, as their service.
    ///
    /// Two accessibilities with one identifier share their keys: a key can be in one of them only.
    /// ``migrateObjects(from:removeOnCompletion:)`` moves all keys from one to another.
    public class func valet(
        withExplicitlySet identifier: Identifier, accessibility: Accessibility
    ) -> Valet {
        shared(Configuration(.explicit(identifier), accessibility))
    }

    /// The valet whose items have `identifier`, and nothing else, as their service, and are
    /// synchronized by iCloud on Apple's systems.
    ///
    /// On Linux its items stay on this machine for now: nothing sends them.
    public class func iCloudValet(
        withExplicitlySet identifier: Identifier, accessibility: CloudAccessibility
    ) -> Valet {
        shared(Configuration(cloud: .explicit(identifier), accessibility))
    }

    /// The valet of an access group whose items have the group without its prefix as their service.
    public class func sharedGroupValet(
        withExplicitlySet identifier: SharedGroupIdentifier, accessibility: Accessibility
    ) -> Valet {
        shared(Configuration(.explicitSharedGroup(identifier), accessibility))
    }

    /// The valet of an access group whose items have the group without its prefix as their service,
    /// and are synchronized by iCloud on Apple's systems.
    ///
    /// On Linux its items stay on this machine for now: nothing sends them.
    public class func iCloudSharedGroupValet(
        withExplicitlySet identifier: SharedGroupIdentifier, accessibility: CloudAccessibility
    ) -> Valet {
        shared(Configuration(cloud: .explicitSharedGroup(identifier), accessibility))
    }

    private class func shared(_ configuration: Configuration) -> Valet {
        Platform.registry.valet(configuration)
    }
}
