// SPDX-License-Identifier: Apache-2.0

/// The number of one generation of all keys of a keychain.
package struct Epoch: Hashable, Comparable, Sendable {
    /// The number, as it is stored: an unsigned integer of 64 bits, big endian.
    package let rawValue: UInt64

    /// Names the generation `rawValue`.
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (left: Epoch, right: Epoch) -> Bool { left.rawValue < right.rawValue }
}
