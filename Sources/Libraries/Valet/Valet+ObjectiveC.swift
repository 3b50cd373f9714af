// SPDX-License-Identifier: Apache-2.0

// The class `Valet`, and its calls under their Objective-C names. The calls are in Valet.swift.

public import Foundation
internal import ValetKeychainModel

/// A sandbox of the keychain in which an application stores secrets by key.
///
/// Keys are any text, values any bytes; neither may be empty. The class methods make valets. Two
/// calls with the same configuration return the same object while it is alive. All methods may be
/// called from several threads and processes at once. They never wait for the user.
///
/// Two valets are equal if they read and write the same items. The identifier, the accessibility,
/// the access group and the kind (iCloud or not) select the items: a key stored with one
/// accessibility is not found with another.
#if canImport(ObjectiveC)
    @objc(VALValet)
#endif
public final class Valet: NSObject, Sendable {
    /// The identifier; for a shared group without one, the group's full name, with its prefix.
    public let identifier: Identifier
    /// When the values may be read.
    #if canImport(ObjectiveC)
        @objc
    #endif
    public let accessibility: Accessibility

    let configuration: Configuration
    let sandbox: PasswordService
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

    /// Valets that read and write the same items have the same hash.
    public override var hash: Int { sandbox.hashValue }

    /// The identifier, the accessibility and the kind.
    public override var description: String {
        let isCloud = configuration.kind == .synchronizableValet
        return "\(identifier) \(accessibility) (\(isCloud ? "iCloud" : "Valet"))"
    }
}

#if canImport(ObjectiveC)
    /// The methods under their Objective-C names: methods with typed errors get none from Swift.
    /// Class methods return nil for an empty identifier and for a prefix that the system does not
    /// have.
    @available(swift, obsoleted: 1.0)
    extension Valet {
        /// See ``valet(with:accessibility:)``.
        @objc(valetWithIdentifier:accessibility:)
        public class func objectiveCValet(
            identifier: String, accessibility: Accessibility
        ) -> Valet? {
            Identifier(nonEmpty: identifier).map { valet(with: $0, accessibility: accessibility) }
        }

        /// See ``iCloudValet(with:accessibility:)``.
        @objc(iCloudValetWithIdentifier:accessibility:)
        public class func objectiveCCloudValet(
            identifier: String, accessibility: CloudAccessibility
        ) -> Valet? {
            Identifier(nonEmpty: identifier)
                .map { iCloudValet(with: $0, accessibility: accessibility) }
        }

        /// See ``valet(withExplicitlySet:accessibility:)``.
        @objc(valetWithExplicitlySetIdentifier:accessibility:)
        public class func objectiveCValet(
            explicitlySet identifier: String, accessibility: Accessibility
        ) -> Valet? {
            Identifier(nonEmpty: identifier)
                .map { valet(withExplicitlySet: $0, accessibility: accessibility) }
        }

        /// See ``iCloudValet(withExplicitlySet:accessibility:)``.
        @objc(iCloudValetWithExplicitlySetIdentifier:accessibility:)
        public class func objectiveCCloudValet(
            explicitlySet identifier: String, accessibility: CloudAccessibility
        ) -> Valet? {
            Identifier(nonEmpty: identifier)
                .map { iCloudValet(withExplicitlySet: $0, accessibility: accessibility) }
        }

        /// See ``sharedGroupValet(withExplicitlySet:accessibility:)``.
        @objc(valetWithAppIDPrefix:explicitlySetSharedGroupIdentifier:accessibility:)
        public class func objectiveCValet(
            appIDPrefix: String, explicitlySetSharedGroup group: String,
            accessibility: Accessibility
        ) -> Valet? {
            SharedGroupIdentifier(appIDPrefix: appIDPrefix, nonEmptyGroup: group)
                .map { sharedGroupValet(withExplicitlySet: $0, accessibility: accessibility) }
        }

        /// See ``iCloudSharedGroupValet(withExplicitlySet:accessibility:)``.
        @objc(iCloudValetWithAppIDPrefix:explicitlySetSharedGroupIdentifier:accessibility:)
        public class func objectiveCCloudValet(
            appIDPrefix: String, explicitlySetSharedGroup group: String,
            accessibility: CloudAccessibility
        ) -> Valet? {
            SharedGroupIdentifier(appIDPrefix: appIDPrefix, nonEmptyGroup: group)
                .map { iCloudSharedGroupValet(withExplicitlySet: $0, accessibility: accessibility) }
        }

        /// See ``sharedGroupValet(with:identifier:accessibility:)``.
        @objc(sharedGroupValetWithAppIDPrefix:sharedGroupIdentifier:accessibility:)
        public class func objectiveCSharedGroupValet(
            appIDPrefix: String, sharedGroupIdentifier: String, accessibility: Accessibility
        ) -> Valet? {
            SharedGroupIdentifier(appIDPrefix: appIDPrefix, nonEmptyGroup: sharedGroupIdentifier)
                .map { sharedGroupValet(with: $0, accessibility: accessibility) }
        }

        /// See ``sharedGroupValet(with:identifier:accessibility:)``.
        @objc(sharedGroupValetWithGroupPrefix:sharedGroupIdentifier:accessibility:)
        public class func objectiveCSharedGroupValet(
            groupPrefix: String, sharedGroupIdentifier: String, accessibility: Accessibility
        ) -> Valet? {
            SharedGroupIdentifier(groupPrefix: groupPrefix, nonEmptyGroup: sharedGroupIdentifier)
                .map { sharedGroupValet(with: $0, accessibility: accessibility) }
        }

        /// See ``iCloudSharedGroupValet(with:identifier:accessibility:)``.
        @objc(iCloudValetWithAppIDPrefix:sharedGroupIdentifier:accessibility:)
        public class func objectiveCCloudSharedGroupValet(
            appIDPrefix: String, sharedGroupIdentifier: String, accessibility: CloudAccessibility
        ) -> Valet? {
            SharedGroupIdentifier(appIDPrefix: appIDPrefix, nonEmptyGroup: sharedGroupIdentifier)
                .map { iCloudSharedGroupValet(with: $0, accessibility: accessibility) }
        }

        /// See ``iCloudSharedGroupValet(with:identifier:accessibility:)``.
        @objc(iCloudValetWithGroupPrefix:sharedGroupIdentifier:accessibility:)
        public class func objectiveCCloudSharedGroupValet(
            groupPrefix: String, sharedGroupIdentifier: String, accessibility: CloudAccessibility
        ) -> Valet? {
            SharedGroupIdentifier(groupPrefix: groupPrefix, nonEmptyGroup: sharedGroupIdentifier)
                .map { iCloudSharedGroupValet(with: $0, accessibility: accessibility) }
        }

        /// See ``canAccessKeychain()``.
        @objc(canAccessKeychain)
        public func objectiveCCanAccessKeychain() -> Bool { canAccessKeychain() }

        /// See ``setObject(_:forKey:)``.
        @objc(setObject:forKey:error:)
        public func objectiveCSetObject(_ object: Data, forKey key: String) throws {
            try setObject(object, forKey: key)
        }

        /// See ``object(forKey:)``.
        @objc(objectForKey:error:)
        public func objectiveCObject(forKey key: String) throws -> Data {
            try object(forKey: key)
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

        /// See ``string(forKey:)``.
        @objc(stringForKey:error:)
        public func objectiveCString(forKey key: String) throws -> String {
            try string(forKey: key)
        }

        /// See ``allKeys()``.
        @objc(allKeysAndReturnError:)
        public func objectiveCAllKeys() throws -> Set<String> { try allKeys() }

        /// See ``allKeys()``. Some code uses this name for `allKeysAndReturnError:`.
        @objc(allKeysWithError:)
        public func objectiveCAllKeysWithError() throws -> Set<String> { try allKeys() }

        /// See ``allKeys()``. Older code uses this name for `allKeysAndReturnError:`.
        @objc(allKeys:)
        public func objectiveCAllKeysOfOlderCode() throws -> Set<String> { try allKeys() }

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

        /// See ``migrateObjects(matching:compactMap:)``. If `compactMap` returns
        /// `preventMigration`, the migration ends without a change and without an error.
        @objc(migrateObjectsMatching:compactMap:error:)
        public func objectiveCMigrateObjects(
            matching query: [String: AnyHashable],
            compactMap: (MigratableKeyValuePairInput) -> MigratableKeyValuePairOutput?
        ) throws {
            try unlessPrevented {
                try migrateObjects(matching: query) { pair in
                    try compactMap(MigratableKeyValuePairInput(pair))?.pair()
                }
            }
        }

        /// See ``migrateObjects(from:removeOnCompletion:)``.
        @objc(migrateObjectsFrom:removeOnCompletion:error:)
        public func objectiveCMigrateObjects(
            from valet: Valet, removeOnCompletion: Bool
        ) throws {
            try migrateObjects(from: valet, removeOnCompletion: removeOnCompletion)
        }

        /// See ``migrateObjects(from:compactMap:)``. If `compactMap` returns `preventMigration`,
        /// the migration ends without a change and without an error.
        @objc(migrateObjectsFrom:compactMap:error:)
        public func objectiveCMigrateObjects(
            from valet: Valet,
            compactMap: (MigratableKeyValuePairInput) -> MigratableKeyValuePairOutput?
        ) throws {
            try unlessPrevented {
                try migrateObjects(from: valet) { pair in
                    try compactMap(MigratableKeyValuePairInput(pair))?.pair()
                }
            }
        }

        /// See ``migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion:)``.
        @objc(migrateObjectsFromAlwaysAccessibleValetWithRemoveOnCompletion:error:)
        public func objectiveCMigrateObjectsFromAlwaysAccessibleValet(
            removeOnCompletion: Bool
        ) throws {
            try migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: removeOnCompletion)
        }

        /// See ``migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(removeOnCompletion:)``.
        @objc(migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValetWithRemoveOnCompletion:error:)
        public func objectiveCMigrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(
            removeOnCompletion: Bool
        ) throws {
            try migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(
                removeOnCompletion: removeOnCompletion)
        }

        #if os(macOS) || VALET_APPLE_BRANCHES
            /// See ``migrateObjectsFromPreCatalina()``.
            @objc(migrateObjectsFromPreCatalinaAndReturnError:)
            public func objectiveCMigrateObjectsFromPreCatalina() throws {
                try migrateObjectsFromPreCatalina()
            }
        #endif
    }
#endif
