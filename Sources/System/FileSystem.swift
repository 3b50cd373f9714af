// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// What the kernel says about the file system of a folder.
package struct FileSystem: Hashable, Sendable {
    /// Asks the kernel about an open folder; tests put another in its place.
    package typealias Probe =
        @Sendable (_ descriptor: Int32, _ path: String) throws(SystemError) -> FileSystem

    /// The type, as in `statfs(2)`.
    package let magic: UInt32
    /// Whether it can only be read, as mounted here.
    package let isReadOnly: Bool

    /// Puts the facts together.
    package init(magic: UInt32, isReadOnly: Bool = false) {
        self.magic = magic
        self.isReadOnly = isReadOnly
    }

    /// Asks the kernel.
    package static let kernel: Probe = { descriptor, path throws(SystemError) in
        var magic: UInt32 = 0
        var facts = statvfs()
        guard unsafe valet_file_system_magic(descriptor, &magic) == 0,
            unsafe fstatvfs(descriptor, &facts) == 0
        else { throw SystemError(errno: errno, during: "examine the file system", path: path) }
        return FileSystem(magic: magic, isReadOnly: facts.f_flag & UInt(ST_RDONLY) != 0)
    }

    /// Whether what it holds is in memory alone, and gone after a restart: tmpfs, ramfs.
    package var isInMemory: Bool { [0x0102_1994, 0x8584_58f6].contains(magic) }

    /// The name of a file system that cannot keep a keychain, or `nil` if it can.
    ///
    /// Refused are those with another machine or a user's program behind them: their locks, shared
    /// memory and `fsync` are not what SQLite's write-ahead log needs
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
