// SPDX-License-Identifier: Apache-2.0

/// What a recovery cannot bring back.
package struct LostItems: Hashable, Sendable {
    /// How many items there are of it.
    package let count: Int
    /// How many of them open with the passcode alone, or ask for somebody.
    package let needingPasscodeCount: Int

    /// How many of them may not leave the device, whose key is lost.
    package var deviceOnlyCount: Int { count - needingPasscodeCount }
}
