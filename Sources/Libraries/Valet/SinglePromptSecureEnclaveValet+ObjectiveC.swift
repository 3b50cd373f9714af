// SPDX-License-Identifier: Apache-2.0

// The class `SinglePromptSecureEnclaveValet`, and its calls under their Objective-C names. The
// calls are in SinglePromptSecureEnclaveValet.swift.

public import Foundation
internal import ValetKeychainModel

/// A sandbox of the keychain for values that require the user's presence once.
///
/// The first read asks the user. The answer counts for every later read of this object, until
/// ``requirePromptOnNextAccess()``. In all other respects it works like ``SecureEnclaveValet``.
#if canImport(ObjectiveC)
    @objc(VALSinglePromptSecureEnclaveValet)
#endif
public final class SinglePromptSecureEnclaveValet: NSObject, Sendable {
    /// The identifier; for a shared group without one, the group's full name, with its prefix.
    public let identifier: Identifier
    /// How the user authenticates.
    #if canImport(ObjectiveC)
        @objc
    #endif
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

    /// Whether `object` is a valet of this class that reads and writes the same items.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SinglePromptSecureEnclaveValet)?.enclave == enclave
    }

    /// Valets that read and write the same items have the same hash.
    public override var hash: Int { enclave.sandbox.hashValue }

    /// The identifier, the accessibility with the access control, and the kind.
    public override var description: String { enclave.description }
}

#if canImport(ObjectiveC)
    /// The methods under their Objective-C names; Swift gives methods with typed errors none. Class
    /// methods return nil for an empty identifier and for a prefix that the system does not have.
    @available(swift, obsoleted: 1.0)
    extension SinglePromptSecureEnclaveValet {
        /// See ``valet(with:accessControl:)``.
        @objc(valetWithIdentifier:accessControl:)
        public class func objectiveCValet(
            identifier: String, accessControl: SecureEnclaveAccessControl
        ) -> SinglePromptSecureEnclaveValet? {
            Identifier(nonEmpty: identifier).map { valet(with: $0, accessControl: accessControl) }
        }

        /// See ``sharedGroupValet(with:identifier:accessControl:)``.
        @objc(sharedGroupValetWithAppIDPrefix:sharedGroupIdentifier:accessControl:)
        public class func objectiveCSharedGroupValet(
            appIDPrefix: String, sharedGroupIdentifier: String,
            accessControl: SecureEnclaveAccessControl
        ) -> SinglePromptSecureEnclaveValet? {
            SharedGroupIdentifier(appIDPrefix: appIDPrefix, nonEmptyGroup: sharedGroupIdentifier)
                .map { sharedGroupValet(with: $0, accessControl: accessControl) }
        }

        /// See ``sharedGroupValet(with:identifier:accessControl:)``.
        @objc(sharedGroupValetWithGroupPrefix:sharedGroupIdentifier:accessControl:)
        public class func objectiveCSharedGroupValet(
            groupPrefix: String, sharedGroupIdentifier: String,
            accessControl: SecureEnclaveAccessControl
        ) -> SinglePromptSecureEnclaveValet? {
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

        /// See ``requirePromptOnNextAccess()``.
        @objc(requirePromptOnNextAccess)
        public func objectiveCRequirePromptOnNextAccess() { requirePromptOnNextAccess() }

        /// See ``allKeys(userPrompt:)``.
        @objc(allKeysWithUserPrompt:error:)
        public func objectiveCAllKeys(userPrompt: String) throws -> Set<String> {
            try allKeys(userPrompt: userPrompt)
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
    }
#endif
