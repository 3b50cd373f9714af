// SPDX-License-Identifier: Apache-2.0

/// Writes and reads backup files: streams of sealed records.
///
/// Format: docs/FORMAT.md §11. The module has never heard of SQLite; where items come from and go
/// to is its caller's concern.
///
/// This is its one error: what was being done, to which file, where in it, why it failed and what
/// helps.
package struct BackupError: Error, Sendable {
    /// What a caller can do.
    @nonexhaustive
    package enum Code: Hashable, Sendable, CaseIterable {
        /// The passphrase is not the one of this backup: ask again.
        case wrongPassphrase
        /// The passphrase has no bytes.
        case emptyPassphrase
        /// The file is not what was written: use another copy.
        case damaged
        /// The file ends too early: copy it again.
        case truncated
        /// The file was never a backup.
        case notABackup
        /// A newer version of the program made the backup.
        case newer
        /// The item may not leave the device.
        case notMigratable
        /// No item can be like this: a bug of our caller's.
        case invalidItem
        /// The item, or the file, is larger than is allowed.
        case tooLarge
        /// There is a file of that name, and it is not to be replaced.
        case destinationExists
        /// A symbolic link, a folder or something else stands where a file must be.
        case unsuitablePath
        /// There is no such file or folder.
        case missing
        /// The system does not allow reading or writing there.
        case denied
        /// No space is left; nothing was left behind.
        case diskFull
        /// There is not as much memory as a passphrase of this cost takes.
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
    /// `errno`, if the system said no.
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

    /// Lets `catch BackupError.Code.wrongPassphrase` be written.
    package static func ~= (code: Code, error: BackupError) -> Bool { error.code == code }
}
