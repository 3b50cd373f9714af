// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A failure of the operating system or of SQLite: the operation, the file, the reason and, if the
/// user can do something about it, the remedy.
///
/// The one error of the platform's modules. SQLite fails for the reasons that files fail for, and a
/// call that opens or writes a database uses both: two types with the same codes would have to be
/// translated into each other at each of these calls.
package struct SystemError: Error, Hashable, Sendable {
    /// What the caller can do about it. A module adds its codes in a file of its own.
    package struct Code: Hashable, Sendable {
        package let name: String
        /// The fault, in words: lower case, no full stop.
        package let reason: String

        package init(_ name: String, _ reason: String) {
            self.name = name
            self.reason = reason
        }

        /// Codes are equal by their names.
        package static func == (left: Self, right: Self) -> Bool { left.name == right.name }

        package func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }

    /// What the caller can do about it.
    package let code: Code
    /// What was being done, such as `"open the database"`.
    package let operation: String
    package let path: String?
    /// SQLite's extended result code.
    package let sqliteCode: Int32?
    package let systemError: Int32?
    /// The remedy, for a person, such as `"chmod 600 PATH"`.
    package let hint: String?

    package init(
        _ code: Code, during operation: String, path: String? = nil, hint: String? = nil,
        systemError: Int32? = nil
    ) {
        self.init(
            code, during: operation, path: path, cause: (sqlite: nil, system: systemError),
            hint: hint)
    }

    /// Makes an error from its parts, with the codes of the cause.
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
    /// Another holder kept a lock until the deadline: try again.
    package static let busy = Self("busy", "locked by others until the deadline")
    /// No space or no quota is left, or the file may not grow; nothing was written.
    package static let diskFull = Self("diskFull", "no space left")
    package static let readOnly = Self("readOnly", "read-only")
    package static let inputOutput = Self("inputOutput", "input or output failed")
    package static let outOfMemory = Self("outOfMemory", "out of memory")
    package static let corrupt = Self("corrupt", "the database is damaged")
    /// The log of the database is not the one that its index describes.
    package static let unmatchedLog = Self(
        "unmatchedLog", "the log of the database does not match its index")
    /// The file is not a database, or its first page is lost.
    package static let notADatabase = Self("notADatabase", "not a database")
    /// The schema differs from the one that the statement expects.
    package static let schemaMismatch = Self("schemaMismatch", "the schema is not the expected one")
    /// The kernel denied access, or SQLite could not open a file.
    package static let cannotOpen = Self("cannotOpen", "cannot be opened")
    package static let wrongOwner = Self("wrongOwner", "another user owns it")
    package static let wrongMode = Self("wrongMode", "the group or others have permissions")
    package static let symbolicLink = Self("symbolicLink", "it is a symbolic link")
    package static let notARegularFile = Self("notARegularFile", "not a regular file")
    package static let notADirectory = Self("notADirectory", "not a folder")
    /// The file system does not give what SQLite relies on.
    package static let unsupportedFileSystem = Self(
        "unsupportedFileSystem", "the file system is not supported")
    package static let missing = Self("missing", "does not exist")
    /// The path now leads to another folder or file than the open one: open it again.
    package static let replaced = Self("replaced", "it was replaced while it was in use")
    /// Another program has removed or replaced the log of the database, and with it changes that
    /// no other file has.
    package static let lostChanges = Self(
        "lostChanges",
        "the file was removed or replaced while it was in use; the last changes before that are "
            + "lost")
    /// Other code in this process has closed descriptors of a keychain:
    /// ``ClosedDescriptors``.
    package static let descriptorsClosed = Self(
        "descriptorsClosed", "this program has closed descriptors of its keychain")
    package static let alreadyExists = Self("alreadyExists", "exists already")
    /// A file that is read, or a value, has more bytes than it may have.
    package static let tooLarge = Self("tooLarge", "too large")
    package static let malformed = Self("malformed", "not of the right form")
    /// A bug of our own: wrong order, wrong index, wrong SQL.
    package static let misuse = Self("misuse", "wrong use of an internal interface")
    /// None of the above; `sqliteCode` or `systemError` has details.
    package static let other = Self("other", "failed")
}

extension SystemError {
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
        case ENOSPC, EDQUOT, EFBIG: self = .diskFull
        case EROFS: self = .readOnly
        case EIO, ENOLCK: self = .inputOutput
        case ENOMEM: self = .outOfMemory
        case EACCES, EPERM, EMFILE, ENFILE, ENAMETOOLONG: self = .cannotOpen
        case ELOOP: self = .symbolicLink
        case EISDIR, ENXIO: self = .notARegularFile
        case ENOTDIR: self = .notADirectory
        case ENOENT: self = .missing
        case EEXIST: self = .alreadyExists
        case EBADF, EINVAL, EFAULT: self = .misuse
        default: self = .other
        }
    }
}
