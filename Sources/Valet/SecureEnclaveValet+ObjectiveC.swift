// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainModel

// The declaration stands in this file because its Objective-C name is an attribute under `#if`.

/// A sandbox of the keychain whose values a person has to be there for, each time one is read.
///
/// Keys are any text, values any bytes; neither may be empty. Nothing but reading asks a person:
/// values are stored, replaced, looked for and removed without. Reading waits for the person, for a
/// minute at most: do not read on a thread that others wait for; in a task, read with
/// ``asynchronous``.
///
/// The values never leave the device, exist only while a passcode is set, and can be read only
/// while the keychain is unlocked. Valets are made by the class methods, of which two calls with
/// the same configuration return the same object while one is alive. All methods may be called from
/// every thread and process at once.
#if canImport(ObjectiveC)
    @objc(VALSecureEnclaveValet)
#endif
public final class SecureEnclaveValet: NSObject, Sendable {
    /// The identifier it was made with; of a shared group without one, the group's name.
    public let identifier: Identifier
    /// How a person proves to be there.
    public let accessControl: SecureEnclaveAccessControl

    let enclave: Enclave

    init(_ enclave: Enclave) {
        identifier = enclave.configuration.identifier
        accessControl = enclave.accessControl
        self.enclave = enclave
        super.init()
    }

    /// Whether `object` is such a valet that reads and writes the same items.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SecureEnclaveValet)?.enclave == enclave
    }

    /// Equal for valets that read and write the same items.
    public override var hash: Int { enclave.sandbox.hashValue }

    /// The identifier, the accessibility with the access control, and the kind.
    public override var description: String { enclave.description }
}
