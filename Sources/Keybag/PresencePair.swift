// SPDX-License-Identifier: Apache-2.0

/// A pair of keys to whose public half items are sealed that need a person: docs/FORMAT.md §4.2.
///
/// Both are there while a passcode is set. The raw values name them in their wraps.
package enum PresencePair: String, CaseIterable, Hashable, Sendable {
    /// Its secret half takes the passcode: nothing else opens it.
    case passcode
    /// Its secret half is open while the keychain is unlocked: that a person was there is
    /// checked by the program.
    case person

    /// The record that holds it.
    var tag: KeybagTag {
        switch self {
        case .passcode: .presencePasscode
        case .person: .presencePerson
        }
    }
}
