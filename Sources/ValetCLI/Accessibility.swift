// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// The accessibilities as the command spells them.
extension ProtectionClass {
    /// The choices of `--accessibility`. `list` also shows the retired classes.
    static let offered: [ProtectionClass] = [
        .whenUnlocked, .afterFirstUnlock, .whenPasscodeSetThisDeviceOnly,
        .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly,
    ]

    /// The stored name in lower case with hyphens: `when-unlocked`.
    var word: String {
        storedName.dropFirst("Accessible".count).reduce(into: "") { word, letter in
            if letter.isUppercase, !word.isEmpty { word += "-" }
            word += letter.lowercased()
        }
    }

    /// The offered class with this word; nil for any other text.
    init?(word: String) {
        guard let match = Self.offered.first(where: { $0.word == word }) else { return nil }
        self = match
    }
}
