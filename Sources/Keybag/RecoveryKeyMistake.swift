// SPDX-License-Identifier: Apache-2.0

/// Why what was typed is no recovery key (docs/FORMAT.md §4.6). Says nothing of what was typed.
package enum RecoveryKeyMistake: Hashable, Sendable {
    /// A character that no recovery key has. `position` counts all characters from 1.
    case character(position: Int)
    /// Not 40 characters, spaces and hyphens aside.
    case length(characterCount: Int)
    /// The check characters do not fit the others.
    case check
}

extension RecoveryKeyMistake: CustomStringConvertible {
    /// One line without secrets.
    package var description: String {
        switch self {
        case .character(let position):
            "a character that no recovery key has, at position \(position)"
        case .length(let characterCount):
            "wrong length: \(characterCount) characters instead of \(RecoveryKey.characterCount)"
        case .check: "mistyped: the check characters do not fit"
        }
    }
}
