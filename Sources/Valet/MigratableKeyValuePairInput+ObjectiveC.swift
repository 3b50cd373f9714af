// SPDX-License-Identifier: Apache-2.0

#if canImport(ObjectiveC)
    public import Foundation

    /// What an Objective-C `compactMap` gets: ``MigratableKeyValuePair`` as an object.
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
#endif
