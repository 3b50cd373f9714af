// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A failure of the operating system or of SQLite: the operation, the file, the reason and, if the
/// user can do something about it, the remedy.
///
/// The one error of the modules `System` and `Database`. SQLite fails for the reasons that files
/// fail for, and a call that opens or writes a database uses both: two types with the same codes
/// would have to be translated into each other at each of these calls.
package struct SystemError: Error, Hashable, Sendable {
    /// What the caller can do about it.
    package enum Code: Hashable, Sendable, CaseIterable {
        /// Another holder kept a lock until the deadline: try again.
        case busy
        /// No space or no quota is left; nothing was written.
        case diskFull
        /// The file or its file system can only be read.
        case readOnly
        /// The device failed.
        case inputOutput
        /// The process is out of memory.
        case outOfMemory
        /// The database is damaged.
        case corrupt
        /// The file is not a database, or its first page is lost.
        case notADatabase
        /// A UNIQUE, CHECK, NOT NULL or type rule of the schema was violated.
        case constraint
        /// The schema differs from the one that the statement expects.
        case schemaMismatch
        /// The kernel denied access, or SQLite could not open a file.
        case cannotOpen
        /// Another user owns the file.
        case wrongOwner
        /// The permissions let the group or others in.
        case wrongMode
        /// A symbolic link, where links are not followed.
        case symbolicLink
        /// Not a regular file.
        case notARegularFile
        /// Not a folder.
        case notADirectory
        /// The file system does not give what SQLite relies on.
        case unsupportedFileSystem
        /// The file or folder does not exist.
        case missing
        /// The path now leads to another folder or file than the open one: open it again.
        case replaced
        /// Other code in this process has closed descriptors of a keychain:
        /// ``ClosedDescriptors``.
        case descriptorsClosed
        /// The file exists and must not.
        case alreadyExists
        /// There are more bytes than the limit allows.
        case tooLarge
        /// A bug of our own: wrong order, wrong index, wrong SQL.
        case misuse
        /// None of the above; `sqliteCode` or `systemError` tell more.
        case other
    }

    /// What the caller can do about it.
    package let code: Code
    /// What was being done, such as `"open the database"`.
    package let operation: String
    /// The file or folder.
    package let path: String?
    /// SQLite's extended result code.
    package let sqliteCode: Int32?
    /// `errno`.
    package let systemError: Int32?
    /// The remedy, for a person, such as `"chmod 600 PATH"`.
    package let hint: String?

    /// Makes an error from its parts.
    package init(
        _ code: Code, during operation: String, path: String? = nil, hint: String? = nil
    ) {
        self.init(
            code, during: operation, path: path, cause: (sqlite: nil, system: nil), hint: hint)
    }

    /// Makes an error from its parts, with the codes that tell the cause.
    package init(
        _ code: Code, during operation: String, path: String?,
        cause: (sqlite: Int32?, system: Int32?), hint: String? = nil
    ) {
        self.code = code
        self.operation = operation
        self.path = path
        self.sqliteCode = cause.sqlite
        self.systemError = cause.system
        self.hint = hint
    }

    /// Makes `catch SystemError.Code.busy` work.
    package static func ~= (code: Code, error: SystemError) -> Bool {
        error.code == code
    }
}

extension SystemError: CustomStringConvertible {
    /// One lower-case line: operation, reason, path and codes; never bytes of the file.
    package var description: String {
        var text = "could not \(operation): \(code.reason)"
        if let path { text += " (\(path))" }
        if let sqliteCode { text += ", sqlite \(sqliteCode)" }
        if let systemError { text += ", errno \(systemError)" }
        return text
    }
}

extension SystemError.Code {
    /// What is wrong, in words: lower case, no full stop.
    package var reason: String {
        switch self {
        case .busy: "locked by others until the deadline"
        case .diskFull: "no space left"
        case .readOnly: "read-only"
        case .inputOutput: "input or output failed"
        case .outOfMemory: "out of memory"
        case .corrupt: "the database is damaged"
        case .notADatabase: "not a database"
        case .constraint: "it violates a rule of the schema"
        case .schemaMismatch: "the schema is not the expected one"
        case .cannotOpen: "cannot be opened"
        case .wrongOwner: "another user owns it"
        case .wrongMode: "the group or others have permissions"
        case .symbolicLink: "it is a symbolic link"
        case .notARegularFile: "not a regular file"
        case .notADirectory: "not a folder"
        case .unsupportedFileSystem: "the file system is not supported"
        case .missing: "does not exist"
        case .replaced: "it was replaced while it was in use"
        case .descriptorsClosed: "this program has closed descriptors of its keychain"
        case .alreadyExists: "exists already"
        case .tooLarge: "too large"
        case .misuse: "wrong use of an internal interface"
        case .other: "failed"
        }
    }
}

extension SystemError {
    /// Translates `errno`.
    @inline(never)
    package init(errno code: Int32, during operation: String, path: String?, hint: String? = nil) {
        self.init(
            Code(systemError: code), during: operation, path: path,
            cause: (sqlite: nil, system: code), hint: hint)
    }
}

extension SystemError.Code {
    /// The code that an `errno` stands for.
    package init(systemError: Int32) {
        switch systemError {
        case ENOSPC, EDQUOT: self = .diskFull
        case EROFS: self = .readOnly
        case EIO, ENOLCK: self = .inputOutput
        case ENOMEM: self = .outOfMemory
        case EACCES, EPERM, EMFILE, ENFILE, ENAMETOOLONG: self = .cannotOpen
        case ELOOP: self = .symbolicLink
        case EISDIR, ENXIO: self = .notARegularFile
        case ENOTDIR: self = .notADirectory
        case ENOENT: self = .missing
        case EEXIST: self = .alreadyExists
        case EFBIG: self = .tooLarge
        case EBADF, EINVAL, EFAULT: self = .misuse
        default: self = .other
        }
    }
}
