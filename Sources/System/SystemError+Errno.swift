// SPDX-License-Identifier: Apache-2.0

internal import Glibc

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

extension String {
    /// The text as one word of a shell command.
    var quotedForShell: String {
        let plain = utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: ":"):
                true
            default: false
            }
        }
        if plain, !isEmpty { return self }
        return "'"
            + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
            + "'"
    }
}
