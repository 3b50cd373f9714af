// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

extension KeybagError {
    /// What a failed unwrap means for the keybag.
    ///
    /// - Parameter wrongKey: What it means that a key was wrapped under another one than that at
    ///   hand: a change of the keybag, unless somebody typed the one at hand.
    init(
        _ error: SealingError, during operation: String = "open the keybag",
        wrongKey: Code = .tampered
    ) {
        let code: Code =
            switch error.code {
            case .wrongKey: wrongKey
            case .tampered: .tampered
            case .outOfMemory: .outOfMemory
            case .malformed: .malformed
            case .unsupported: .newer
            }
        self.init(code, during: operation, underlying: error)
    }
}
