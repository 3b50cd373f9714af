// SPDX-License-Identifier: Apache-2.0

// `MigratableKeyValuePair` in Objective-C: the objects that a `compactMap` gets and returns.

#if canImport(ObjectiveC)
    public import Foundation

    /// The object that an Objective-C `compactMap` gets for each item to migrate.
    @objc(VALMigratableKeyValuePairInput)
    public final class MigratableKeyValuePairInput: NSObject {
        /// The account: `NSString`, `NSData` or `NSNumber`.
        @objc public let key: Any
        /// The value's bytes.
        @objc public let value: Data

        init(_ pair: MigratableKeyValuePair<AnyHashable>) {
            key = pair.key.base
            value = pair.value
            super.init()
        }
    }

    /// The object that an Objective-C `compactMap` returns for each item to migrate.
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

        /// An object that, returned in place of a pair, ends the migration and leaves the keychain
        /// unchanged. The migration reports success.
        @objc
        public class func preventMigration() -> MigratableKeyValuePairOutput {
            MigratableKeyValuePairOutput(key: "", value: Data(), preventsMigration: true)
        }

        func pair() throws(CancellationError) -> MigratableKeyValuePair<String> {
            guard !preventsMigration else { throw CancellationError() }
            return MigratableKeyValuePair(key: key, value: value)
        }
    }

    /// Runs `migration`, and ignores that the caller's `compactMap` prevented it: a migration that
    /// changes nothing because it was prevented has succeeded.
    func unlessPrevented(_ migration: () throws -> Void) throws {
        do {
            try migration()
        } catch is CancellationError {}
    }
#endif
