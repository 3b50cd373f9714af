// SPDX-License-Identifier: Apache-2.0

/// What became of a key of a valet.
@nonexhaustive
public enum KeyChange: Hashable, Sendable {
    /// Something was stored under the key, for the first time or in place of what was there.
    case stored(key: String)
    /// Nothing is stored under the key any more.
    case removed(key: String)
    /// Keys were removed that could not be read while they were there: `allKeys()` tells what is
    /// left.
    case removedUnknown
}
