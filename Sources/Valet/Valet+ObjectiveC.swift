// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainModel

// The declaration stands in this file because its Objective-C name is an attribute under `#if`.

/// A sandbox of the keychain in which an application keeps secrets by key.
///
/// Keys are any text, values any bytes; neither may be empty. Valets are made by the class methods,
/// of which two calls with the same configuration return the same object while one is alive. All
/// methods may be called from every thread and process at once. They do not wait for a person.
///
/// Two valets are equal when they read and write the same items. Which items those are depends on
/// the identifier, the accessibility, the access group and whether it is an iCloud valet: a key
/// stored with one accessibility is not found with another.
#if canImport(ObjectiveC)
    @objc(VALValet)
#endif
public final class Valet: NSObject, Sendable {
    /// The identifier it was made with; of a shared group without one, the
    /// group's full name, with its prefix.
    public let identifier: Identifier
    /// When its values may be read.
    public let accessibility: Accessibility

    let configuration: Configuration
    let sandbox: PasswordService
    /// The search for all items, from which those for one item are made.
    let query: ItemQuery
    let backend: any KeychainBackend

    init(_ configuration: Configuration, backend: any KeychainBackend) {
        identifier = configuration.identifier
        accessibility = configuration.accessibility
        self.configuration = configuration
        sandbox = configuration.sandbox
        query = sandbox.query
        self.backend = backend
        super.init()
    }

    /// Whether `object` is a valet that reads and writes the same items.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? Valet)?.sandbox == sandbox
    }

    /// Equal for valets that read and write the same items.
    public override var hash: Int { sandbox.hashValue }

    /// The identifier, the accessibility and the kind.
    public override var description: String {
        "\(identifier) \(accessibility) (\(configuration.isCloud ? "iCloud" : "Valet"))"
    }
}
