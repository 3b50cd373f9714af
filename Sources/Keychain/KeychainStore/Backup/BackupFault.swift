// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// What is wrong with a backup, or with an item to put into one. The raw value is part of the
/// message of a ``KeychainFailure``.
///
/// A backup is a stream of sealed records: docs/FORMAT.md §11. The code for backups does not use
/// SQLite; its callers supply the items and store them.
enum BackupFault: String, CaseIterable {
    case wrongPassphrase = "wrong passphrase"
    case emptyPassphrase = "the passphrase is empty"
    /// The file was changed.
    case damaged = "it is damaged"
    /// The file ends too early.
    case truncated = "its end is missing"
    case notABackup = "it is not a backup"
    case newer = "it was made by a newer version"
    case notMigratable = "the item may not leave this device"
    /// No item can have this form: a bug of the caller.
    case invalidItem = "it is not a valid item"
    /// The item, or the file, is larger than is allowed.
    case tooLarge = "too large"
    case destinationExists = "the file exists already"
    /// The path leads to a link, a folder or another object.
    case unsuitablePath = "not a regular file"
    case missing = "there is no such file or folder"
    case denied = "permission denied, or read-only"

    fileprivate var code: KeychainFailure.Code {
        switch self {
        case .wrongPassphrase: .authenticationFailed
        case .damaged, .truncated, .notABackup: .damaged
        case .newer: .newerFormat
        case .emptyPassphrase, .destinationExists, .unsuitablePath: .invalidRequest
        case .tooLarge, .missing, .denied: .inputOutput
        case .notMigratable, .invalidItem: .internalFault
        }
    }

    fileprivate var hint: String? {
        switch self {
        case .wrongPassphrase:
            "use the passphrase that was chosen for this backup; case and spaces count"
        case .emptyPassphrase: "choose a passphrase"
        case .damaged: "use another copy of this backup, or an older backup"
        case .truncated: "the file was not copied completely: copy it again"
        case .notABackup: "name a file that `valet backup create` has made"
        case .newer: "use a newer version of valet"
        case .destinationExists: "choose another name; `--force` replaces the file"
        case .unsuitablePath: "name a file that is neither a link nor a folder"
        case .missing: "check the path"
        case .denied: "choose a place where you may read and write"
        case .tooLarge: "see `ulimit -f`, and what the file system allows"
        case .notMigratable, .invalidItem: nil
        }
    }
}

enum BackupOperation: String {
    case write = "make a backup"
    case open = "open the backup"
    case read = "read the backup"
    case check = "put an item into a backup"
}

/// Where in a file something is wrong.
enum BackupPlace {
    /// The first 236 bytes.
    case header
    /// One of the chunks, from 0.
    case chunk(Int)
    /// After the last chunk.
    case end

    fileprivate var words: String {
        switch self {
        case .header: "in the header"
        case .chunk(let number): "in chunk \(number)"
        case .end: "after the last chunk"
        }
    }
}

extension KeychainFailure {
    /// The failure for a backup, which names the file and the place in it.
    init(
        _ fault: BackupFault, during operation: BackupOperation, path: String? = nil,
        at place: BackupPlace? = nil
    ) {
        self.init(
            fault.code, during: operation.rawValue,
            message: place.map { "\(fault.rawValue), \($0.words)" } ?? fault.rawValue, path: path,
            hint: fault.hint)
    }

    /// The failure of the backup at `path` for a failed unwrap or opening.
    init(
        _ error: SystemError, during operation: BackupOperation, path: String,
        at place: BackupPlace? = nil
    ) {
        switch error.code {
        case .wrongKey: self.init(.wrongPassphrase, during: operation, path: path)
        case .unsupported: self.init(.newer, during: operation, path: path)
        case .outOfMemory:
            self.init(
                .outOfMemory, during: operation.rawValue, path: path,
                hint: "end other programs, or use a machine with more memory")
        default: self.init(.damaged, during: operation, path: path, at: place)
        }
    }

    /// The failure of a backup for an error of its file.
    init(ofFile error: SystemError, during operation: BackupOperation) {
        let fault: BackupFault? =
            switch error.code {
            case .alreadyExists: .destinationExists
            case .tooLarge: .tooLarge
            case .diskFull where error.systemError == EFBIG: .tooLarge
            case .symbolicLink, .notARegularFile, .notADirectory, .misuse: .unsuitablePath
            case .missing: .missing
            case .cannotOpen, .readOnly, .wrongOwner, .wrongMode: .denied
            default: nil
            }
        guard let fault else {
            self.init(error, during: operation.rawValue)
            return
        }
        self.init(
            KeychainFailure(fault, during: operation, path: error.path),
            systemError: error.systemError ?? 0)
    }
}
