// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc
internal import SecretMemory

/// The number by which the kernel knows a key.
struct KeySerial: Hashable, Sendable {
    let rawValue: Int32
}

/// add_key(2) and keyctl(2), with their errors typed: the one file here that touches a pointer.
enum KernelKeyring {
    /// Who may do what (keyctl_setperm(3)): the possessor everything, and every process of the user
    /// all but linking it elsewhere; nobody else anything. Without the rights of the user a
    /// process in a fresh session keyring, as cron and services have, would not possess the key
    /// and could find but not read it.
    private static let permissions: Int64 = 0x3f2f_0000

    /// Makes a key that only this thread has, and that dies with it.
    ///
    /// The thread's keyring, not the process's: a key of one name is there only once, and two
    /// threads of one process would write over each other's.
    static func makeKey(
        named description: String, payload: borrowing SecretBytes
    ) throws(LockStateError) -> KeySerial {
        let result = payload.withBytes { bytes in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe valet_add_thread_key(description, bytes.baseAddress, bytes.count)
            }
        }
        return KeySerial(rawValue: Int32(try check(result, during: .publish)))
    }

    /// Finds a key in the user keyring; costs about 2 µs.
    ///
    /// - Throws: ``LockStateError/Code/keyNotFound``, `expired` or `revoked` if there is none (any
    ///   more), `refused` where there are no keyrings.
    static func find(_ description: String) throws(LockStateError) -> KeySerial {
        let result = unsafe valet_find_user_key(description)
        return KeySerial(rawValue: Int32(try check(result, during: .find)))
    }

    /// Whether the key is still good: neither revoked, nor expired, nor collected.
    ///
    /// The cheapest call that tells: docs/decisions/0013-kernel-keys.md.
    static func isGood(_ key: KeySerial) -> Bool {
        valet_keyctl(KEYCTL_GET_KEYRING_ID, key.rawValue, 0) == Int64(key.rawValue)
    }

    /// Reads the payload, which has at most `limit` bytes, and lends it to `body`.
    ///
    /// - Throws: ``LockStateError/Code/malformed`` if it has more; what `body` throws.
    static func read<R>(
        _ key: KeySerial, atMost limit: Int,
        _ body: (Span<UInt8>) throws(LockStateError) -> R
    ) throws(LockStateError) -> R {
        var room = SecretBytes(byteCount: limit, for: .keys)
        let result = room.withMutableBytes { bytes in
            unsafe bytes.withUnsafeMutableBufferPointer { bytes in
                unsafe valet_read_key(key.rawValue, bytes.baseAddress, bytes.count)
            }
        }
        let count = Int(try check(result, during: .read))
        guard count <= limit else { throw LockStateError(.malformed, during: .read) }
        return try room.withBytes { (bytes: Span<UInt8>) throws(LockStateError) in
            try body(bytes.extracting(first: count))
        }
    }

    /// The keys of type `user` in the user keyring, by what they are called; without those whose
    /// names are longer than `limit` bytes, and those that are not for this user to see.
    static func keys(namedWithin limit: Int) throws(LockStateError) -> [String: KeySerial] {
        var found: [String: KeySerial] = [:]
        for key in try serials() {
            if let name = try name(of: key, atMost: limit) { found[name] = key }
        }
        return found
    }

    private static func serials() throws(LockStateError) -> [KeySerial] {
        var count = 256
        while true {
            var numbers = [Int32](repeating: 0, count: count)
            let result = unsafe numbers.withUnsafeMutableBytes { bytes in
                unsafe valet_read_key(KEY_SPEC_USER_KEYRING, bytes.baseAddress, bytes.count)
            }
            let needed = Int(try check(result, during: .find)) / MemoryLayout<Int32>.size
            if needed <= count { return numbers.prefix(needed).map(KeySerial.init(rawValue:)) }
            // Others add keys, too.
            count = needed + 64
        }
    }

    private static func name(
        of key: KeySerial, atMost limit: Int
    ) throws(LockStateError) -> String? {
        var text = [UInt8](repeating: 0, count: 64 + limit)
        let result = unsafe text.withUnsafeMutableBytes { bytes in
            unsafe valet_describe_key(key.rawValue, bytes.baseAddress, bytes.count)
        }
        let count: Int
        do throws(LockStateError) {
            count = Int(try check(result, during: .find))
        } catch {
            guard error.meansGone || error.code == .refused else { throw error }
            return nil
        }
        guard (1...text.count).contains(count) else { return nil }
        let parts = text.prefix(count - 1).split(
            separator: UInt8(ascii: ";"), maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].elementsEqual("user".utf8) else { return nil }
        return String(decoding: parts[4], as: UTF8.self)
    }

    /// Replaces the payload at once, for every reader; a key that was revoked stays so. Its
    /// timeout is gone afterwards.
    static func update(
        _ key: KeySerial, payload: borrowing SecretBytes
    ) throws(LockStateError) {
        let result = payload.withBytes { bytes in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe valet_update_key(key.rawValue, bytes.baseAddress, bytes.count)
            }
        }
        try check(result, during: .update)
    }

    /// Opens the key to every process of the user, and to nobody else.
    static func share(_ key: KeySerial) throws(LockStateError) {
        try control(KEYCTL_SETPERM, key, permissions, during: .publish)
    }

    /// Has the kernel drop the key in so many seconds, by a clock that can be set; 0 is never.
    static func setTimeout(_ seconds: UInt32, of key: KeySerial) throws(LockStateError) {
        try control(KEYCTL_SET_TIMEOUT, key, Int64(seconds), during: .publish)
    }

    /// Links the key into the user keyring, in place of the one of its name, at once for every
    /// reader.
    static func publish(_ key: KeySerial) throws(LockStateError) {
        do throws(LockStateError) {
            try control(KEYCTL_LINK, key, Int64(KEY_SPEC_USER_KEYRING), during: .publish)
        } catch {
            // The key is this thread's, so what is missing is the user keyring itself, which the
            // kernel makes at first use: there was no room for it.
            guard error.code == .keyNotFound else { throw error }
            throw LockStateError(
                .quotaExceeded, during: .publish, systemError: error.systemError)
        }
    }

    /// Makes the key unreadable for everybody, at once; its payload is wiped a moment later.
    static func revoke(_ key: KeySerial) throws(LockStateError) {
        try control(KEYCTL_REVOKE, key, 0, during: .revoke)
    }

    /// Removes the key from the user keyring.
    static func unlink(_ key: KeySerial) throws(LockStateError) {
        try control(KEYCTL_UNLINK, key, Int64(KEY_SPEC_USER_KEYRING), during: .unlink)
    }

    /// Removes the key from the keyring of this thread.
    static func dropFromThread(_ key: KeySerial) throws(LockStateError) {
        try control(KEYCTL_UNLINK, key, Int64(KEY_SPEC_THREAD_KEYRING), during: .unlink)
    }

    /// Why the kernel, or a sandbox, gives this process no keyrings; nil if it does.
    static func refusal() -> LockStateError? {
        let result = valet_keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0)
        guard result < 0 else { return nil }
        let error = LockStateError(errno: Int32(-result), during: .probe)
        // A quota that is used up gives ENOKEY here; there may be room when it is needed.
        return error.code == .refused ? error : nil
    }

    private static func control(
        _ operation: Int32, _ key: KeySerial, _ argument: Int64,
        during purpose: LockStateError.Operation
    ) throws(LockStateError) {
        try check(valet_keyctl(operation, key.rawValue, argument), during: purpose)
    }

    @discardableResult
    private static func check(
        _ result: Int64, during operation: LockStateError.Operation
    ) throws(LockStateError) -> Int64 {
        guard result >= 0 else {
            throw LockStateError(errno: Int32(-result), during: operation)
        }
        return result
    }
}
