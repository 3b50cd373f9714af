// SPDX-License-Identifier: Apache-2.0

#if canImport(ObjectiveC)
    public import Foundation

    /// The methods under their Objective-C names.
    @available(swift, obsoleted: 1.0)
    extension SecureEnclaveValet {
        /// See ``canAccessKeychain()``.
        @objc(canAccessKeychain)
        public func objectiveCCanAccessKeychain() -> Bool { canAccessKeychain() }

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

        /// See ``containsObject(forKey:)``; false when the keychain cannot be asked, either.
        @objc(containsObjectForKey:)
        public func objectiveCContainsObject(forKey key: String) -> Bool {
            // Objective-C callers of this name have no place for an error.
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
    }
#endif
