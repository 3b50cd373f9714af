// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCSQLite
internal import ValetSystem

// Translates SQLite's result codes into `SystemError`. `Connection` checks every call with it.

extension SystemError {
    /// Translates an extended result code of SQLite (https://www.sqlite.org/rescode.html).
    @inline(never)
    init(
        sqlite code: Int32, during operation: String, path: String?, systemError: Int32 = 0,
        hint: String? = nil
    ) {
        let system = systemError == 0 ? nil : systemError
        self.init(
            Code(sqlite: code, systemError: systemError), during: operation, path: path,
            cause: (sqlite: code, system: system), hint: hint)
    }
}

extension SystemError.Code {
    init(sqlite code: Int32, systemError: Int32) {
        self = Self(extended: code, systemError: systemError) ?? Self(primary: code & 0xff)
    }

    /// The extended codes whose meaning differs from their primary code.
    private init?(extended code: Int32, systemError: Int32) {
        switch code {
        case SQLITE_CANTOPEN | (6 << 8): self = .symbolicLink
        case SQLITE_IOERR | (12 << 8): self = .outOfMemory
        case SQLITE_IOERR | (33 << 8): self = .corrupt
        default:
            // SQLite calls a full disk FULL when it writes the database, IOERR elsewhere.
            guard [SQLITE_IOERR, SQLITE_CANTOPEN].contains(code & 0xff) else { return nil }
            guard [ENOSPC, EDQUOT, EFBIG, EROFS, ENOENT].contains(systemError) else { return nil }
            self = Self(systemError: systemError)
        }
    }

    private init(primary code: Int32) {
        switch code {
        // PROTOCOL: SQLite gave up after 100 attempts to read a log header that kept changing.
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: self = .busy
        case SQLITE_FULL: self = .diskFull
        case SQLITE_READONLY: self = .readOnly
        case SQLITE_IOERR: self = .inputOutput
        case SQLITE_NOMEM: self = .outOfMemory
        // No caller's input breaks a rule of the schema: a row does, or an index that hides one.
        case SQLITE_CORRUPT, SQLITE_CONSTRAINT, SQLITE_MISMATCH: self = .corrupt
        case SQLITE_NOTADB, SQLITE_FORMAT: self = .notADatabase
        case SQLITE_SCHEMA: self = .schemaMismatch
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: self = .cannotOpen
        case SQLITE_TOOBIG: self = .tooLarge
        case SQLITE_MISUSE, SQLITE_RANGE: self = .misuse
        default: self = .other
        }
    }
}
