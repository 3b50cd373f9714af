// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Identifies a file by its device and inode numbers; also has its size at that moment.
package struct FileIdentity: Hashable, Sendable {
    package let device: UInt64
    /// The number of the file on the device.
    package let inode: UInt64
    package let byteCount: Int64

    /// Whether both are the same file, whatever the sizes.
    package func isSameFile(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode
    }
}

/// What the kernel says of a file, except its times: asking for them makes the file's next sync
/// slower.
struct FileStatus {
    private let status: valet_file_status

    var identity: FileIdentity {
        FileIdentity(
            device: status.device, inode: status.inode, byteCount: status.byte_count)
    }
    /// The type, such as `S_IFREG`.
    var type: mode_t { mode & S_IFMT }
    var mode: mode_t { status.mode }
    var owner: uid_t { status.owner }
    var linkCount: UInt64 { status.link_count }

    /// Reads the status of an open file. If `descriptor` is not open, or if the system does not
    /// tell, all members are zero, which every check refuses, and `errno` is the reason.
    init(of descriptor: Int32) {
        self = FileStatus(open: descriptor) ?? FileStatus(status: valet_file_status())
    }

    private init(status: valet_file_status) { self.status = status }

    /// The status of an open file. If it is nil, `errno` is the reason.
    init?(open descriptor: Int32) {
        let emptyPath: Int32 = 0x1000
        self.init(descriptor, "", emptyPath)
    }

    private init?(_ folder: Int32, _ name: String, _ flags: Int32) {
        var status = valet_file_status()
        guard unsafe valet_read_file_status(folder, name, flags, &status) == 0 else {
            return nil
        }
        self.status = status
    }

    /// A file or a symbolic link in an open folder. If it is nil, `errno` is the reason.
    init?(of name: String, in folder: Int32) {
        self.init(folder, name, AT_SYMLINK_NOFOLLOW)
    }

    /// The file that `path` leads to; for a symbolic link the link itself, unless it is followed.
    /// If it is nil, `errno` is the reason.
    init?(at path: String, followingLink: Bool = false) {
        self.init(AT_FDCWD, path, followingLink ? 0 : AT_SYMLINK_NOFOLLOW)
    }

    /// The file that `path` leads to, as the kernel remembers it.
    init?(asRemembered path: String) {
        let withoutAsking: Int32 = 0x4000  // AT_STATX_DONT_SYNC
        self.init(AT_FDCWD, path, withoutAsking)
    }
}

/// What the files and folders of a keychain must be (spec/keys-and-states.md §9.2).
enum FileRules {
    /// Throws unless it is a regular file of `user`, with one name and closed to all others.
    static func checkFile(
        _ status: FileStatus, of user: uid_t = geteuid(), path: @autoclosure () -> String,
        during operation: String
    ) throws(SystemError) {
        let isOwnFile = status.type == S_IFREG && status.owner == user
        if isOwnFile, status.mode & 0o077 == 0, status.linkCount == 1 { return }
        throw refusal(of: status, path: path(), during: operation)
    }

    @inline(never)
    private static func refusal(
        of status: FileStatus, path: String, during operation: String
    ) -> SystemError {
        let refusal: (code: SystemError.Code, hint: String)? =
            switch status.type {
            case S_IFLNK: (.symbolicLink, "put the file itself at \(path.quotedForShell)")
            case S_IFREG where status.linkCount == 0: (.missing, "try again")
            case S_IFREG where status.linkCount != 1:
                (.notARegularFile, "remove the other hard links of \(path.quotedForShell)")
            case S_IFREG: foreignAccess(status, path: path, mode: "600")
            default: (.notARegularFile, "move \(path.quotedForShell) away")
            }
        guard let refusal else {
            return SystemError(.other, during: operation, path: path, hint: "try again")
        }
        return SystemError(refusal.code, during: operation, path: path, hint: refusal.hint)
    }

    /// Throws unless it is a regular file of root, of this process's user or of `otherOwner`,
    /// without the permissions `bits`. `remedy` is the command that takes them away.
    static func checkGiven(
        _ status: FileStatus, path: String, during operation: String,
        trusting otherOwner: () -> uid_t? = { nil }, forbidding rule: (bits: mode_t, remedy: String)
    ) throws(SystemError) {
        guard status.type == S_IFREG else {
            throw SystemError(.notARegularFile, during: operation, path: path)
        }
        guard [0, geteuid()].contains(status.owner) || status.owner == otherOwner() else {
            throw SystemError(
                .wrongOwner, during: operation, path: path,
                hint: hintOnOwner(status.owner, path: path))
        }
        guard status.mode & rule.bits == 0 else {
            throw SystemError(
                .wrongMode, during: operation, path: path,
                hint: "\(rule.remedy) \(path.quotedForShell)")
        }
    }

    /// Throws unless it is a folder of this user, closed to all others.
    static func checkFolder(
        _ status: FileStatus, path: String, during operation: String
    ) throws(SystemError) {
        guard status.type == S_IFDIR else {
            throw SystemError(.notADirectory, during: operation, path: path)
        }
        guard let refusal = foreignAccess(status, path: path, mode: "700") else { return }
        throw SystemError(refusal.code, during: operation, path: path, hint: refusal.hint)
    }

    private static func foreignAccess(
        _ status: FileStatus, path: String, mode: String
    ) -> (code: SystemError.Code, hint: String)? {
        let user = geteuid()
        guard status.owner == user else {
            return (.wrongOwner, hintOnOwner(status.owner, path: path))
        }
        guard status.mode & 0o077 == 0 else {
            return (.wrongMode, "chmod \(mode) \(path.quotedForShell)")
        }
        return nil
    }

    /// The remedy if another user owns a file. Root is never advised to take the file: its owner
    /// could no longer use it.
    static func hintOnOwner(_ owner: uid_t, path: String) -> String {
        let user = geteuid()
        guard user != 0 else { return "run as user \(owner), which owns it" }
        return "as root: chown \(user) \(path.quotedForShell); or run as user \(owner)"
    }
}

extension FileIdentity {
    /// Identifies the file or folder that `path` leads to, through links, without opening it; nil
    /// if the kernel refuses to say.
    package init?(of path: String) {
        guard let status = FileStatus(at: path, followingLink: true) else { return nil }
        self = status.identity
    }

    /// Identifies the program that a process runs, by the link `exe` of its folder in proc(5). Does
    /// not ask the file system of the program, which may not answer: the size may be an old one.
    package init?(ofProgram link: String) {
        guard let status = FileStatus(asRemembered: link) else { return nil }
        self = status.identity
    }
}

/// The file of a program as it was at one time. Another file at its path, or the same one with
/// another content, is another version.
package struct FileVersion: Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64
    package let byteCount: Int64
    /// When the file last changed, by the kernel's note, which no program can set: seconds since
    /// 1970.
    package let changed: Int64
    package let changedNanoseconds: UInt32

    package init(
        device: UInt64, inode: UInt64, byteCount: Int64, changed: Int64, nanoseconds: UInt32
    ) {
        (self.device, self.inode, self.byteCount) = (device, inode, byteCount)
        (self.changed, changedNanoseconds) = (changed, nanoseconds)
    }

    /// The version of the program that a process runs, as ``FileIdentity/init(ofProgram:)``; nil if
    /// it is not `file`.
    package init?(ofProgram link: String, expecting file: FileIdentity) {
        var (seconds, nanoseconds) = (Int64(0), UInt32(0))
        guard let found = FileIdentity(ofProgram: link), found.isSameFile(as: file),
            unsafe valet_read_change_time(link, &seconds, &nanoseconds) == 0
        else { return nil }
        self.init(
            device: found.device, inode: found.inode, byteCount: found.byteCount,
            changed: seconds, nanoseconds: nanoseconds)
    }
}

/// The file system of a folder, as the kernel reports it.
package struct FileSystem: Hashable, Sendable {
    /// Asks about an open folder; tests replace it.
    package typealias Probe =
        @Sendable (_ descriptor: Int32, _ path: String) throws(SystemError) -> FileSystem

    /// The type, as in `statfs(2)`.
    package let magic: UInt32
    /// Whether it is mounted read-only.
    package let isReadOnly: Bool

    /// The size of the blocks in which space for files is allocated.
    package let blockByteCount: Int

    package init(magic: UInt32, isReadOnly: Bool = false, blockByteCount: Int = 4096) {
        self.magic = magic
        self.isReadOnly = isReadOnly
        self.blockByteCount = blockByteCount
    }

    package static let kernel: Probe = { descriptor, path throws(SystemError) in
        var (magic, flags, block): (UInt32, UInt64, Int64) = (0, 0, 0)
        guard unsafe valet_read_file_system(descriptor, &magic, &flags, &block) == 0 else {
            throw SystemError(errno: errno, during: "examine the file system", path: path)
        }
        return FileSystem(
            magic: magic, isReadOnly: flags & UInt64(ST_RDONLY) != 0,
            blockByteCount: Int(clamping: block))
    }

    /// Whether its files are in memory alone and lost at a restart: tmpfs, ramfs.
    package var isInMemory: Bool { [0x0102_1994, 0x8584_58f6].contains(magic) }

    /// The name of a file system that cannot keep a keychain, or `nil` if it can.
    ///
    /// File systems of another machine or of a user's program are refused: their locks, shared
    /// memory and `fsync` do not give what SQLite's write-ahead log relies on
    /// (https://www.sqlite.org/wal.html, §1).
    package var nameIfUnsupported: String? {
        Self.unsupported[magic]
    }

    /// Throws ``SystemError/Code/unsupportedFileSystem``, with the remedy.
    package func check(path: String) throws(SystemError) {
        guard let name = nameIfUnsupported else { return }
        throw SystemError(
            .unsupportedFileSystem, during: "open the keychain's folder", path: path,
            hint: "\(name) is not a local file system: set VALET_HOME to a folder on a local disk")
    }

    // From include/uapi/linux/magic.h and the file systems' own headers.
    private static let unsupported: [UInt32: String] = [
        0x0000_564c: "NCP", 0x0000_517b: "SMB", 0x0000_6969: "NFS",
        0x0102_1997: "9P", 0x0116_1970: "GFS2", 0x0bd0_0bd0: "Lustre",
        0x1983_0326: "BeeGFS", 0x2003_0528: "OrangeFS", 0x4750_4653: "GPFS",
        0x5346_414f: "AFS", 0x6163_6673: "ACFS", 0x6573_5546: "FUSE",
        0x6b41_4653: "AFS", 0x7375_7245: "Coda", 0x7461_636f: "OCFS2",
        0x786f_4256: "VirtualBox shared folders", 0x7c7c_6673: "Parallels shared folders",
        0x00c3_6400: "Ceph", 0xaad7_aaea: "PanFS", 0xbacb_acbc: "VMware shared folders",
        0xfe53_4d42: "SMB2", 0xff53_4d42: "CIFS",
    ]
}
