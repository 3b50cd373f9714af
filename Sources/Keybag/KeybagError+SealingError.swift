// SPDX-License-Identifier: Apache-2.0

internal import Sealing

extension KeybagError {
    /// What a failed unwrap means for the keybag.
    init(_ error: SealingError, during operation: String = "open the keybag") {
        let code: Code =
            switch error.code {
            case .wrongKey, .tampered, .outOfMemory: .tampered
            case .malformed: .malformed
            case .unsupported: .newer
            }
        self.init(code, during: operation, underlying: error)
    }
}
