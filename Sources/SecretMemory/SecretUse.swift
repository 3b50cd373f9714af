// SPDX-License-Identifier: Apache-2.0

/// What secret bytes are for, which says what of the guarded memory they may take.
package enum SecretUse: Sendable {
    /// Keys and what leads to them, of up to 1 KiB: they find room however many values are held.
    case keys
    /// Everything else, as much as somebody likes to hold.
    case values
}
