// SPDX-License-Identifier: Apache-2.0

/// What an access control is evaluated for. The raw values are those of Apple's systems.
public enum LAAccessControlOperation: Int, Sendable {
    /// Storing a new item: never takes a person.
    case createItem = 0
    /// Reading an item.
    case useItem = 1
    /// Making a key: never takes a person.
    case createKey = 2
    /// Signing with a key.
    case useKeySign = 3
    /// Decrypting with a key.
    case useKeyDecrypt = 4
    /// Agreeing on a key with another.
    case useKeyKeyExchange = 5
}
