// SPDX-License-Identifier: Apache-2.0

internal import ValetBackup
internal import ValetKeychainModel

extension KeychainFailure {
    /// What a failure of a backup file means for `operation`.
    init(_ error: BackupError, during operation: String) {
        let failure = KeychainFailure(
            error.code.meaning, during: operation, message: error.reason, path: error.path,
            hint: error.hint)
        self.init(failure, systemError: error.systemError ?? 0)
    }
}

extension BackupError.Code {
    fileprivate var meaning: KeychainFailure.Code {
        switch self {
        case .wrongPassphrase: .authenticationFailed
        case .damaged, .truncated, .notABackup: .damaged
        case .newer: .newerFormat
        case .emptyPassphrase, .destinationExists, .unsuitablePath: .invalidRequest
        case .missing, .denied, .tooLarge, .io: .inputOutput
        case .diskFull: .diskFull
        case .outOfMemory: .outOfMemory
        case .notMigratable, .invalidItem: .internalFault
        @unknown default: .internalFault
        }
    }
}
