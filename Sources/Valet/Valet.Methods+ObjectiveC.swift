// SPDX-License-Identifier: Apache-2.0

#if canImport(ObjectiveC)
    public import Foundation

    /// The methods under their Objective-C names: those with typed errors have none of their own.
    @available(swift, obsoleted: 1.0)
    extension Valet {
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

        /// See ``string(forKey:)``.
        @objc(stringForKey:error:)
        public func objectiveCString(forKey key: String) throws -> String {
            try string(forKey: key)
        }

        /// See ``allKeys()``.
        @objc(allKeysWithError:)
        public func objectiveCAllKeys() throws -> Set<String> { try allKeys() }

        /// The name that older code has for `allKeysWithError:`.
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
    }
#endif
