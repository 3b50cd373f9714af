// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization
package import ValetTestValues

/// Stands between a client and a TPM, and answers some commands itself.
package final class TPMProxy: Sendable {
    /// What becomes of a command.
    package enum Action: Sendable {
        /// It goes to the TPM.
        case pass
        /// It is answered with these bytes.
        case answer([UInt8])
        /// The connection ends.
        case hangUp
        /// Nobody answers.
        case silence
    }

    /// An answer without parameters.
    package static func answer(_ code: UInt32) -> Action {
        .answer(
            [0x80, 1, 0, 0, 0, 10]
                + (0..<4).map { UInt8(truncatingIfNeeded: code >> (24 - 8 * $0)) })
    }

    /// Where clients connect.
    package let socket: String
    private let target: String
    private let listener: Int32
    private let commands = Mutex<[UInt32]>([])
    private let bytes = Mutex<[UInt8]>([])
    private let decide: @Sendable (_ code: UInt32, _ number: Int) -> Action

    /// Listens in `folder`, and passes on to the socket `target`.
    ///
    /// - Parameter decide: What becomes of the command of that code, the how many-eth it is.
    package init(
        in folder: TestFolder, before target: String,
        decide: @escaping @Sendable (_ code: UInt32, _ number: Int) -> Action
    ) throws {
        socket = folder.path("proxy")
        self.target = target
        self.decide = decide
        listener = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try unsafe Self.withAddress(socket) { address, length in
            unsafe unlink(socket)
            return unsafe bind(listener, address, length)
        }
        listen(listener, 8)
        Thread.detachNewThread { [listener, weak self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { break }
                self?.serve(client)
                close(client)
            }
            close(listener)
        }
    }

    /// The codes of all commands so far.
    package var seen: [UInt32] { commands.withLock { $0 } }

    /// All bytes that went to the TPM and came from it.
    package var traffic: [UInt8] { bytes.withLock { $0 } }

    // The thread's accept fails then, and closes it.
    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private func serve(_ client: Int32) {
        let tpm = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(tpm) }
        guard unsafe (try? Self.withAddress(target) { unsafe connect(tpm, $0, $1) }) != nil else {
            return
        }
        while let command = Self.message(from: client) {
            let code = command[6..<10].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let number = commands.withLock { commands in
                commands.append(code)
                return commands.count
            }
            switch decide(code, number) {
            case .pass:
                Self.send(command, to: tpm)
                guard let answer = Self.message(from: tpm) else { return }
                bytes.withLock { $0 += command + answer }
                Self.send(answer, to: client)
            case .answer(let bytes): Self.send(bytes, to: client)
            case .hangUp: return
            case .silence: continue
            }
        }
    }

    private static func message(from descriptor: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(descriptor, &bytes, bytes.count)
        return count >= 10 ? Array(bytes[..<count]) : nil
    }

    private static func send(_ bytes: [UInt8], to descriptor: Int32) {
        unsafe _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) {
            unsafe $0.copyBytes(from: path.utf8)
        }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe body(address, length)
            }
        }
        guard result == 0 else { throw POSIXError(.EIO) }
    }
}
