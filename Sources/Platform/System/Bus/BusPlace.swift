// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Where the bus is, which user it must belong to, and the library that connects to it.
///
/// Only code chooses it: no environment variable does.
package struct BusPlace: Hashable, Sendable {
    /// The machine's system bus, at the path of the D-Bus specification. Belongs to root.
    package static let system = BusPlace(path: "/run/dbus/system_bus_socket", owner: 0)

    /// The absolute path of its socket.
    package let path: String
    /// The user that the socket and its folder must belong to.
    package let owner: UInt32
    /// The file name of libsystemd.
    package let library: String

    /// Names another place, for tests.
    package init(path: String, owner: UInt32, library: String = "libsystemd.so.0") {
        self.path = path
        self.owner = owner
        self.library = library
    }

    /// Checks that only the owner could have made the socket: both folder and socket must belong to
    /// the owner. All users may write to the socket, which is how they connect.
    ///
    /// - Throws: `busAbsent`, `untrusted`.
    func check() throws(SystemError) {
        let folder = String(
            path[..<(path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex)])
        let folderStatus = try status(of: folder)
        let socketStatus = try status(of: path)
        guard socketStatus.st_mode & S_IFMT == S_IFSOCK else { throw failure(.busAbsent) }
        guard folderStatus.st_uid == owner, socketStatus.st_uid == owner,
            folderStatus.st_mode & S_IFMT == S_IFDIR,
            folderStatus.st_mode & (S_IWGRP | S_IWOTH) == 0
        else {
            throw failure(
                .untrusted,
                "\(path) and its folder must belong to user \(owner), and nobody else may write to "
                    + "the folder")
        }
    }

    /// The address of the socket. Characters with a meaning in addresses are written as `%` and two
    /// digits (D-Bus specification, "Server Addresses").
    var address: String { Self.address(ofSocket: path) }

    static func address(ofSocket path: String) -> String {
        var text = "unix:path="
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
                UInt8(ascii: "-"), UInt8(ascii: "_"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                text += byte < 16 ? "%0" : "%"
                text += String(byte, radix: 16)
            }
        }
        return text
    }

    func failure(
        _ code: SystemError.Code, _ hint: String? = nil, systemError: Int32 = 0
    ) -> SystemError {
        SystemError(
            code, during: "connect to the system bus",
            hint: hint ?? (code == .busAbsent ? "install and start the Debian package dbus" : nil),
            systemError: systemError)
    }

    private func status(of path: String) throws(SystemError) -> stat {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            throw failure(.busAbsent, systemError: errno)
        }
        return status
    }
}
