// SPDX-License-Identifier: Apache-2.0

#if canImport(ObjectiveC)
    public import Foundation

    /// What an Objective-C `compactMap` returns: ``MigratableKeyValuePair`` as an object.
    @objc(VALMigratableKeyValuePairOutput)
    public final class MigratableKeyValuePairOutput: NSObject, Sendable {
        /// The key to store the value under.
        @objc public let key: String
        /// The bytes to store.
        @objc public let value: Data
        private let preventsMigration: Bool

        /// A key and bytes.
        @objc(initWithKey:value:)
        public convenience init(key: String, value: Data) {
            self.init(key: key, value: value, preventsMigration: false)
        }

        /// A key and text, which is stored as UTF-8.
        @objc(initWithKey:stringValue:)
        public convenience init(key: String, stringValue: String) {
            self.init(key: key, value: Data(stringValue.utf8), preventsMigration: false)
        }

        private init(key: String, value: Data, preventsMigration: Bool) {
            self.key = key
            self.value = value
            self.preventsMigration = preventsMigration
            super.init()
        }

        /// Returned instead of a pair, stops the migration; the keychain is then as it was.
        @objc
        public class func preventMigration() -> MigratableKeyValuePairOutput {
            MigratableKeyValuePairOutput(key: "", value: Data(), preventsMigration: true)
        }

        func pair() throws(MigrationPrevented) -> MigratableKeyValuePair<String> {
            guard !preventsMigration else { throw MigrationPrevented() }
            return MigratableKeyValuePair(key: key, value: value)
        }
    }

    /// Why a migration ended that the caller's `compactMap` prevented.
    struct MigrationPrevented: Error {}
#endif
