// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainModel

// The declaration stands in this file because its Objective-C name is an attribute under `#if`.

/// A sandbox of the keychain whose values a person has to be there for, once.
///
/// The first read asks a person, and what they proved opens every later read of this object until
/// ``requirePromptOnNextAccess()``. In all else it is as ``SecureEnclaveValet``.
#if canImport(ObjectiveC)
    @objc(VALSinglePromptSecureEnclaveValet)
#endif
public final class SinglePromptSecureEnclaveValet: NSObject, Sendable {
    /// The identifier it was made with; of a shared group without one, the group's name.
    public let identifier: Identifier
    /// How a person proves to be there.
    public let accessControl: SecureEnclaveAccessControl

    let enclave: Enclave
    let remembered: RememberedAuthentication

    init(_ enclave: Enclave) {
        identifier = enclave.configuration.identifier
        accessControl = enclave.accessControl
        self.enclave = enclave
        remembered = RememberedAuthentication(enclave.authentication)
        super.init()
    }

    /// Whether `object` is such a valet that reads and writes the same items.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SinglePromptSecureEnclaveValet)?.enclave == enclave
    }

    /// Equal for valets that read and write the same items.
    public override var hash: Int { enclave.sandbox.hashValue }

    /// The identifier, the accessibility with the access control, and the kind.
    public override var description: String { enclave.description }
}
