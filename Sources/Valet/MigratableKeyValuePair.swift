// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A key and its value on their way into a valet.
public struct MigratableKeyValuePair<Key: Hashable>: Hashable {
    /// The key: text for valets, whatever the account is for other items.
    public let key: Key
    /// The value's bytes.
    public let value: Data

    /// A pair of a key and bytes.
    public init(key: Key, value: Data) {
        self.key = key
        self.value = value
    }

    /// A pair of a key and text, which is stored as UTF-8.
    public init(key: Key, value: String) {
        self.init(key: key, value: Data(value.utf8))
    }
}

extension MigratableKeyValuePair: Sendable where Key: Sendable {}
