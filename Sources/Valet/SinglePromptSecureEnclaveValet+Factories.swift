// SPDX-License-Identifier: Apache-2.0

extension SinglePromptSecureEnclaveValet {
    /// The valet of that name, for this application alone.
    public class func valet(
        with identifier: Identifier, accessControl: SecureEnclaveAccessControl
    ) -> SinglePromptSecureEnclaveValet {
        shared(.standard(identifier), accessControl)
    }

    /// The valet of an access group, for every application that has the group.
    ///
    /// With an `identifier` it is one of several valets of the group.
    public class func sharedGroupValet(
        with groupIdentifier: SharedGroupIdentifier, identifier: Identifier? = nil,
        accessControl: SecureEnclaveAccessControl
    ) -> SinglePromptSecureEnclaveValet {
        shared(.sharedGroup(groupIdentifier, identifier), accessControl)
    }

    private class func shared(
        _ naming: Configuration.Naming, _ accessControl: SecureEnclaveAccessControl
    ) -> SinglePromptSecureEnclaveValet {
        let enclave = Enclave(naming, accessControl, asksOnce: true, backend: Platform.backend)
        return Platform.registry.valet(enclave.configuration) {
            SinglePromptSecureEnclaveValet(enclave)
        }
    }
}
