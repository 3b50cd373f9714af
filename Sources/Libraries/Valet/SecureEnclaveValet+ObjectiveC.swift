// SPDX-License-Identifier: Apache-2.0

// The class `SecureEnclaveValet`, and its calls under their Objective-C names. The calls are in
// SecureEnclaveValet.swift.

public import Foundation
internal import ValetKeychainModel

/// A sandbox of the keychain for values that require the user's presence at each read.
///
/// Keys are any text, values any bytes; neither may be empty. Only reading a value asks the user;
/// storing, replacing, finding and removing values do not. A read waits for the user, at most one
/// minute: do not read on a thread that others wait for. In a task, use ``asynchronous``.
///
/// The values never leave the device, exist only while a passcode is set, and can be read only
/// while the keychain is unlocked. The class methods make valets. Two calls with the same
/// configuration return the same object while it is alive. All methods may be called from several
/// threads and processes at once.
#if canImport(ObjectiveC)
    @objc(VALSecureEnclaveValet)
#endif
public final class SecureEnclaveValet: NSObject, Sendable {
    /// The identifier; for a shared group without one, the group's full name, with its prefix.
    public let identifier: Identifier
    /// How the user authenticates.
    #if canImport(ObjectiveC)
        @objc
    #endif
    public let accessControl: SecureEnclaveAccessControl

    let enclave: Enclave

    init(_ enclave: Enclave) {
        identifier = enclave.configuration.identifier
        accessControl = enclave.accessControl
        self.enclave = enclave
        super.init()
    }

    /// Whether `object` is a valet of this class that reads and writes the same items.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SecureEnclaveValet)?.enclave == enclave
    }

    /// Valets that read and write the same items have the same hash.
    public override var hash: Int { enclave.sandbox.hashValue }

    /// The identifier, the accessibility with the access control, and the kind.
    public override var description: String { enclave.description }
}

#if canImport(ObjectiveC)
    /// The methods under Objective-C names, because Swift gives no such names to methods with typed
    /// errors. Class methods return nil for an empty identifier and for a prefix that the system
    /// does not have.
    @available(swift, obsoleted: 1.0)
    extension SecureEnclaveValet {
        /// See ``valet(with:accessControl:)``.
        @objc(valetWithIdentifier:accessControl:)
        public class func objectiveCValet(
            identifier: String, accessControl: SecureEnclaveAccessControl
        ) -> SecureEnclaveValet? {
            Identifier(nonEmpty: identifier).map { valet(with: $0, accessControl: accessControl) }
        }

        /// See ``sharedGroupValet(with:identifier:accessControl:)``.
        @objc(sharedGroupValetWithAppIDPrefix:sharedGroupIdentifier:accessControl:)
        public class func objectiveCSharedGroupValet(
            appIDPrefix: String, sharedGroupIdentifier: String,
            accessControl: SecureEnclaveAccessControl
        ) -> SecureEnclaveValet? {
            SharedGroupIdentifier(appIDPrefix: appIDPrefix, nonEmptyGroup: sharedGroupIdentifier)
                .map { sharedGroupValet(with: $0, accessControl: accessControl) }
        }

        /// See ``sharedGroupValet(with:identifier:accessControl:)``.
        @objc(sharedGroupValetWithGroupPrefix:sharedGroupIdentifier:accessControl:)
        public class func objectiveCSharedGroupValet(
            groupPrefix: String, sharedGroupIdentifier: String,
            accessControl: SecureEnclaveAccessControl
        ) -> SecureEnclaveValet? {
            SharedGroupIdentifier(groupPrefix: groupPrefix, nonEmptyGroup: sharedGroupIdentifier)
                .map { sharedGroupValet(with: $0, accessControl: accessControl) }
        }

        /// See ``canAccessKeychain()``.
        @objc(canAccessKeychain)
        public func objectiveCCanAccessKeychain() -> Bool { canAccessKeychain() }

        /// See ``canMeetAccessControl()``.
        @objc(canMeetAccessControl)
        public func objectiveCCanMeetAccessControl() -> Bool { canMeetAccessControl() }

        /// See ``setObject(_:forKey:)``.
        @objc(setObject:forKey:error:)
        public func objectiveCSetObject(_ object: Data, forKey key: String) throws {
            try setObject(object, forKey: key)
        }

        /// See ``object(forKey:withPrompt:)``.
        @objc(objectForKey:withPrompt:error:)
        public func objectiveCObject(
            forKey key: String, withPrompt userPrompt: String
        ) throws -> Data {
            try object(forKey: key, withPrompt: userPrompt)
        }

        /// See ``containsObject(forKey:)``. Returns false also if the keychain cannot be read.
        @objc(containsObjectForKey:)
        public func objectiveCContainsObject(forKey key: String) -> Bool {
            // The Objective-C signature has no parameter for an error.
            (try? containsObject(forKey: key)) ?? false
        }

        /// See ``setString(_:forKey:)``.
        @objc(setString:forKey:error:)
        public func objectiveCSetString(_ string: String, forKey key: String) throws {
            try setString(string, forKey: key)
        }

        /// See ``string(forKey:withPrompt:)``.
        @objc(stringForKey:withPrompt:error:)
        public func objectiveCString(
            forKey key: String, withPrompt userPrompt: String
        ) throws -> String {
            try string(forKey: key, withPrompt: userPrompt)
        }

        /// See ``object(forKey:)``.
        @objc(objectForKey:error:)
        public func objectiveCObject(forKey key: String) throws -> Data {
            try object(forKey: key)
        }

        /// See ``string(forKey:)``.
        @objc(stringForKey:error:)
        public func objectiveCString(forKey key: String) throws -> String {
            try string(forKey: key)
        }

        /// See ``removeObject(forKey:)``.
        @objc(removeObjectForKey:error:)
        public func objectiveCRemoveObject(forKey key: String) throws {
            try removeObject(forKey: key)
        }

        /// See ``removeAllObjects()``.
        @objc(removeAllObjectsAndReturnError:)
        public func objectiveCRemoveAllObjects() throws { try removeAllObjects() }

        /// See ``migrateObjects(matching:removeOnCompletion:)``.
        @objc(migrateObjectsMatching:removeOnCompletion:error:)
        public func objectiveCMigrateObjects(
            matching query: [String: AnyHashable], removeOnCompletion: Bool
        ) throws {
            try migrateObjects(matching: query, removeOnCompletion: removeOnCompletion)
        }

        /// See ``migrateObjects(from:removeOnCompletion:)``.
        @objc(migrateObjectsFrom:removeOnCompletion:error:)
        public func objectiveCMigrateObjects(
            from valet: Valet, removeOnCompletion: Bool
        ) throws {
            try migrateObjects(from: valet, removeOnCompletion: removeOnCompletion)
        }

        /// See
        /// ``migrateObjectsFromSinglePromptSecureEnclaveValet(withPrompt:removeOnCompletion:)``.
        @objc(
            migrateObjectsFromSinglePromptSecureEnclaveValetWithPrompt:removeOnCompletion:error:
        )
        public func objectiveCMigrateObjectsFromSinglePrompt(
            userPrompt: String, removeOnCompletion: Bool
        ) throws {
            try migrateObjectsFromSinglePromptSecureEnclaveValet(
                withPrompt: userPrompt, removeOnCompletion: removeOnCompletion)
        }
    }
#endif
