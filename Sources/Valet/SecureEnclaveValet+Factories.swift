// SPDX-License-Identifier: Apache-2.0

extension SecureEnclaveValet {
    /// The valet of that name, for this application alone.
    public class func valet(
        with identifier: Identifier, accessControl: SecureEnclaveAccessControl
    ) -> SecureEnclaveValet {
        shared(.standard(identifier), accessControl)
    }

    /// The valet of an access group, for every application that has the group.
    ///
    /// With an `identifier` it is one of several valets of the group.
    public class func sharedGroupValet(
        with groupIdentifier: SharedGroupIdentifier, identifier: Identifier? = nil,
        accessControl: SecureEnclaveAccessControl
    ) -> SecureEnclaveValet {
        shared(.sharedGroup(groupIdentifier, identifier), accessControl)
    }

    private class func shared(
        _ naming: Configuration.Naming, _ accessControl: SecureEnclaveAccessControl
    ) -> SecureEnclaveValet {
        let enclave = Enclave(naming, accessControl, asksOnce: false, backend: Platform.backend)
        return Platform.registry.valet(enclave.configuration) { SecureEnclaveValet(enclave) }
    }
}
