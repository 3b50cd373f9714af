// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// Sockets in the file system.
enum LocalSocket {
    /// Sends a text on a connection of its own. Whether somebody listens there.
    static func send(_ text: String, to path: String) -> Bool {
        let number = make()
        defer { close(number) }
        let code = unsafe withAddress(path) { unsafe connect(number, $0, $1) }
        guard code == 0 else { return false }
        let bytes = Array(text.utf8)
        return unsafe write(number, bytes, bytes.count) == bytes.count
    }

    /// Begins to listen; the number is the caller's to close.
    static func listen(at path: String) -> Int32 {
        let number = make()
        _ = unsafe withAddress(path) { unsafe bind(number, $0, $1) }
        _ = Glibc.listen(number, 8)
        return number
    }

    private static func make() -> Int32 {
        socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | 0o2000000, 0)  // SOCK_CLOEXEC
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
            unsafe room.copyBytes(from: path.utf8.prefix(room.count - 1))
        }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
