// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux
internal import ValetSealing
internal import ValetSystem

/// An open connection to a TPM: sends a command and receives its answer, within the deadline.
///
/// Its reads and writes never block, so that the deadline holds whatever the TPM does. The
/// transports of tpm2-tss cannot be bounded: docs/decisions/0026-tpm-transport.md.
final class TPMChannel {
    let operation: String
    private let descriptor: Int32
    private let isSocket: Bool
    private let deadline: Deadline

    /// The most bytes of a command or an answer: TPM2_MAX_RESPONSE_SIZE.
    static let maximalByteCount = 4096
    private static let headerByteCount = 10

    /// Opens the connection; waits while another process has the device open.
    ///
    /// - Throws: ``SystemError``: `noDevice`, `noPermission`, `timedOut`.
    init(
        _ place: TPMDevice.Place, during operation: String, until deadline: Deadline
    ) throws(SystemError) {
        self.operation = operation
        self.deadline = deadline
        var pause: Int64 = 1_000_000
        while true {
            let result = Self.open(place)
            if result >= 0 {
                descriptor = result
                break
            }
            // Only one process can open the raw device. A socket with a full queue is also waited
            // for.
            guard result == -EBUSY || result == -EAGAIN || result == -EINTR else {
                throw SystemError.tpm(opening: place, errno: -result, during: operation)
            }
            guard deadline.sleep(atMost: pause) else {
                throw SystemError.tpm(.slowTPM, during: operation, systemError: -result)
            }
            pause = min(2 * pause, 50_000_000)
        }
        isSocket = if case .socket = place { true } else { false }
    }

    deinit { _ = close(descriptor) }

    /// Sends a command, repeats it while the TPM asks for a retry, and returns the whole answer,
    /// header included.
    ///
    /// - Throws: ``SystemError``: `timedOut`, `connectionLost`, `malformedAnswer`.
    func exchange(_ command: [UInt8]) throws(SystemError) -> [UInt8] {
        var pause: Int64 = 2_000_000
        while true {
            try send(command)
            let answer = try receive()
            guard Self.response(of: answer).isTemporary else { return answer }
            guard deadline.sleep(atMost: pause) else {
                throw SystemError.tpm(.slowTPM, during: operation)
            }
            pause = min(2 * pause, 100_000_000)
        }
    }

    /// The response code in the header of an answer.
    static func response(of answer: [UInt8]) -> TPMResponse {
        TPMResponse(answer[6..<headerByteCount].reduce(0) { $0 << 8 | UInt32($1) })
    }

    private func send(_ command: [UInt8]) throws(SystemError) {
        var sent = 0
        while sent < command.count {
            let result = unsafe command[sent...].withUnsafeBytes { bytes in
                // A device takes no flags and raises no signal.
                unsafe isSocket
                    ? Glibc.send(
                        descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
                    : write(descriptor, bytes.baseAddress, bytes.count)
            }
            if result > 0 {
                sent += result
            } else {
                try waitAfter(result, for: POLLOUT)
            }
        }
    }

    private func receive() throws(SystemError) -> [UInt8] {
        var answer: [UInt8] = []
        var room = [UInt8](repeating: 0, count: Self.maximalByteCount)
        while true {
            // A device gives a whole answer to one read, and drops bytes that do not fit.
            try waitUntilReady(POLLIN)
            let count = unsafe room.withUnsafeMutableBytes { bytes in
                unsafe read(descriptor, bytes.baseAddress, bytes.count)
            }
            guard count > 0 else {
                try waitAfter(count, for: POLLIN)
                continue
            }
            answer += room[..<count]
            guard answer.count >= Self.headerByteCount else { continue }
            let byteCount = answer[2..<6].reduce(0) { $0 << 8 | Int($1) }
            guard byteCount >= Self.headerByteCount, byteCount <= Self.maximalByteCount,
                answer.count <= byteCount
            else { throw SystemError.tpm(.malformedAnswer, during: operation) }
            if answer.count == byteCount { return answer }
        }
    }

    /// Waits if the call would have blocked; throws at the end of the stream and for other errors.
    private func waitAfter(_ result: Int, for event: Int32) throws(SystemError) {
        let reason = result < 0 ? errno : 0
        switch reason {
        case EINTR: return
        case EAGAIN, EBUSY: try waitUntilReady(event)
        default: throw SystemError.tpm(.connectionLost, during: operation, systemError: reason)
        }
    }

    private func waitUntilReady(_ event: Int32) throws(SystemError) {
        guard WaitLimit(until: deadline).wait(for: descriptor, event) == .ready else {
            throw SystemError.tpm(.slowTPM, during: operation)
        }
    }

    /// The descriptor, or the negative error number.
    private static func open(_ place: TPMDevice.Place) -> Int32 {
        switch place {
        case .device(let path): openDevice(path)
        case .socket(let path): connect(to: path)
        }
    }

    private static func openDevice(_ path: String) -> Int32 {
        let descriptor = unsafe valet_openat(AT_FDCWD, path, O_RDWR | O_NONBLOCK | O_NOCTTY, 0)
        guard descriptor >= 0 else { return -errno }
        var facts = stat()
        // Never write a command into a regular file at the path of the device.
        guard unsafe fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFCHR else {
            _ = close(descriptor)
            return -ENODEV
        }
        return descriptor
    }

    private static func connect(to path: String) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < room else { return -ENAMETOOLONG }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) {
            unsafe $0.copyBytes(from: path.utf8)
        }
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = valet_above_streams(socket(AF_UNIX, kind, 0))
        guard descriptor >= 0 else { return -errno }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe Glibc.connect(descriptor, address, length)
            }
        }
        guard result != 0 else { return descriptor }
        let reason = errno
        _ = close(descriptor)
        return -reason
    }
}

/// Removing what killed processes left in the TPM, by commands in bytes: ESYS flushes only the
/// objects that it made itself.
extension TPMChannel {
    /// Removes every transient object and every loaded session that this channel sees. Behind a
    /// resource manager it sees only its own, so there are none.
    ///
    /// - Returns: The number of removed objects and sessions.
    func removeLeftovers() throws(SystemError) -> Int {
        var count = 0
        // TPM_HT_TRANSIENT, TPM_HT_LOADED_SESSION: TPM 2.0 Library part 2, 7.2.
        for first: UInt32 in [0x8000_0000, 0x0200_0000] {
            for handle in try handles(from: first) {
                _ = try exchange(Self.command(0x165, handle))
                count += 1
            }
        }
        return count
    }

    /// TPM2_GetCapability of handles: part 3, 30.2.
    private func handles(from first: UInt32) throws(SystemError) -> [UInt32] {
        let answer = try exchange(Self.command(0x17a, 1, first, 64))
        guard Self.response(of: answer).rawValue == 0 else { return [] }
        let malformed = SystemError.tpm(.malformedAnswer, during: operation)
        var reader = ByteReader(answer, malformed: malformed)
        // Header, more-data flag, capability.
        _ = try reader.bytes(10 + 1 + 4)
        let count = try reader.integer(UInt32.self)
        guard count <= 64 else { throw malformed }
        var handles: [UInt32] = []
        for _ in 0..<count { handles.append(try reader.integer()) }
        return handles
    }

    private static func command(_ code: UInt32, _ parameters: UInt32...) -> [UInt8] {
        // TPM_ST_NO_SESSIONS.
        var bytes: [UInt8] = [0x80, 0x01]
        bytes.append(bigEndian: UInt32(10 + 4 * parameters.count))
        bytes.append(bigEndian: code)
        for parameter in parameters { bytes.append(bigEndian: parameter) }
        return bytes
    }
}
