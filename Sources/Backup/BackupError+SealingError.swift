// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

extension BackupError {
    /// What a failure to unwrap or to open means for the backup at `path`.
    init(_ error: SealingError, during operation: Operation, path: String, place: Place? = nil) {
        let code: Code =
            switch error.code {
            case .wrongKey: .wrongPassphrase
            case .tampered, .malformed: .damaged
            case .unsupported: .newer
            case .outOfMemory: .outOfMemory
            }
        self.init(
            code, during: operation, path: path, place: code == .damaged ? place : nil,
            cause: (nil, error))
    }
}
