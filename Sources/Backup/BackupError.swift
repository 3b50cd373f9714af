// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing
internal import ValetSystem

/// The error of the module, which writes and reads backup files: what was being done, to which
/// file, at which place in it, and why it failed.
///
/// A backup is a stream of sealed records: docs/FORMAT.md §11. The module knows no SQLite; its
/// callers supply the items and store them.
package struct BackupError: Error, Sendable {
    /// What a caller can do.
    @nonexhaustive
    package enum Code: Hashable, Sendable, CaseIterable {
        /// The passphrase is wrong: ask again.
        case wrongPassphrase
        /// The passphrase has no bytes.
        case emptyPassphrase
        /// The file was changed: use another copy.
        case damaged
        /// The file ends too early: copy it again.
        case truncated
        /// The file was never a backup.
        case notABackup
        /// A newer version of the program made the backup.
        case newer
        /// The item may not leave the device.
        case notMigratable
        /// No item can have this form: a bug of the caller.
        case invalidItem
        /// The item, or the file, is larger than is allowed.
        case tooLarge
        /// A file of that name exists and must not be replaced.
        case destinationExists
        /// The path leads to a symbolic link, a folder or another object that is not a regular
        /// file.
        case unsuitablePath
        /// There is no such file or folder.
        case missing
        /// The system does not allow reading or writing there.
        case denied
        /// No space is left; nothing was left behind.
        case diskFull
        /// There is not enough memory to stretch a passphrase at this cost.
        case outOfMemory
        /// The system failed in another way.
        case io
    }

    /// Where in a file something is wrong.
    package enum Place: Hashable, Sendable {
        /// The first 236 bytes.
        case header
        /// One of the chunks, from 0.
        case chunk(Int)
        /// After the last chunk.
        case end
    }

    /// What a caller can do.
    package let code: Code
    /// What was being done: "write the backup", "read the backup".
    package let operation: String
    /// The file.
    package let path: String?
    /// Where it is wrong, for a file that is damaged or truncated.
    package let place: Place?
    /// `errno`, if a system call failed.
    package let systemError: Int32?
    /// The error of the layer below, if one led to this.
    package let underlying: (any Error)?

    init(_ code: Code, during operation: Operation, path: String? = nil, place: Place? = nil) {
        self.init(code, during: operation, path: path, place: place, cause: (nil, nil))
    }

    init(
        _ code: Code, during operation: Operation, path: String?, place: Place?,
        cause: (systemError: Int32?, underlying: (any Error)?)
    ) {
        self.code = code
        self.operation = operation.rawValue
        self.path = path
        self.place = place
        systemError = cause.systemError
        underlying = cause.underlying
    }

    enum Operation: String {
        case write = "write the backup"
        case open = "open the backup"
        case read = "read the backup"
        case check = "put an item into a backup"
    }

    /// Allows `catch BackupError.Code.wrongPassphrase`.
    package static func ~= (code: Code, error: BackupError) -> Bool { error.code == code }
}

extension BackupError: CustomStringConvertible {
    /// One lower-case line: operation, reason, path, place and `errno`; nothing of the contents.
    package var description: String {
        var text = "could not \(operation): \(code.explanation)"
        if let path { text += " (\(path))" }
        if let place { text += ", \(place)" }
        if let systemError { text += ", errno \(systemError)" }
        return text
    }

    /// The reason, and the place in the file. The caller adds the operation and the path.
    package var reason: String {
        place.map { "\(code.explanation), \($0)" } ?? code.explanation
    }

    /// What the user can do about it; nil if nothing helps.
    package var hint: String? {
        switch code {
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
        case .diskFull: "make room, or choose another disk"
        case .tooLarge: "see `ulimit -f`, and what the file system allows"
        case .outOfMemory: "end other programs, or use a machine with more memory"
        case .notMigratable, .invalidItem, .io: nil
        }
    }
}

extension BackupError.Code {
    fileprivate var explanation: String {
        switch self {
        case .wrongPassphrase: "wrong passphrase"
        case .emptyPassphrase: "the passphrase is empty"
        case .damaged: "it is damaged"
        case .truncated: "its end is missing"
        case .notABackup: "it is not a backup"
        case .newer: "it was made by a newer version"
        case .notMigratable: "the item may not leave this device"
        case .invalidItem: "it is not a valid item"
        case .tooLarge: "too large"
        case .destinationExists: "the file exists already"
        case .unsuitablePath: "not a regular file"
        case .missing: "there is no such file or folder"
        case .denied: "permission denied, or read-only"
        case .diskFull: "no space left"
        case .outOfMemory: "not enough memory"
        case .io: "input or output failed"
        }
    }
}

extension BackupError.Place: CustomStringConvertible {
    /// `in the header`, `in chunk 3`, `after the last chunk`.
    package var description: String {
        switch self {
        case .header: "in the header"
        case .chunk(let number): "in chunk \(number)"
        case .end: "after the last chunk"
        }
    }
}

extension BackupError {
    /// The error of the backup at `path` for a failed unwrap or opening.
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

extension BackupError {
    /// The error of a backup for an error of its file.
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
