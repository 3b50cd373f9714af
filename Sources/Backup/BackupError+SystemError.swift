// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

extension BackupError {
    /// What a failure of a file means for the backup in it.
    init(_ error: SystemError, during operation: Operation) {
        let code: Code =
            switch error.code {
            case .alreadyExists: .destinationExists
            case .diskFull: .diskFull
            case .tooLarge: .tooLarge
            case .symbolicLink, .notARegularFile, .notADirectory, .misuse: .unsuitablePath
            case .missing: .missing
            case .cannotOpen, .readOnly, .wrongOwner, .wrongMode: .denied
            case .outOfMemory: .outOfMemory
            case .busy, .inputOutput, .corrupt, .notADatabase, .constraint, .schemaMismatch,
                .unsupportedFileSystem, .replaced, .other:
                .io
            }
        self.init(
            code, during: operation, path: error.path, place: nil,
            cause: (error.systemError, error))
    }
}
