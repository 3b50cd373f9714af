// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The number by which the kernel knows a key.
struct KeySerial: Hashable, Sendable {
    let rawValue: Int32
}

/// Calls of add_key(2) and keyctl(2) with typed errors: the only file of this module that uses
/// pointers.
enum KernelKeyring {
    /// The rights (keyctl_setperm(3)). The possessor has all, every process of the user has all
    /// except linking the key elsewhere, and other users have none. Processes in a fresh session
    /// keyring, such as cron jobs and services, do not possess the key: without the user's rights
    /// they could find but not read it.
    private static let permissions: Int64 = 0x3f2f_0000

    /// A keyring in which all processes of the user find keys.
    private enum Shared: CaseIterable {
        case user
        /// Used if somebody has revoked or closed the user keyring.
        case persistent
    }

    /// Makes a key that only this thread has, and that dies with it.
    ///
    /// It is in the thread's keyring, not the process's: a keyring has only one key of a name, so
    /// two threads of one process would overwrite each other's keys.
    static func makeKey(
        named description: String, payload: Span<UInt8>
    ) throws(KeychainFailure) -> KeySerial {
        let result = unsafe payload.withUnsafeBufferPointer { bytes in
            unsafe valet_add_thread_key(description, bytes.baseAddress, bytes.count)
        }
        return KeySerial(rawValue: Int32(try check(result, during: .publish)))
    }

    /// Whether the key is still good: not revoked, expired or collected, and open to this process.
    ///
    /// Uses the cheapest call that finds this out: docs/decisions/0013-kernel-keys.md.
    static func isGood(_ key: KeySerial) -> Bool {
        valet_keyctl(KEYCTL_GET_KEYRING_ID, key.rawValue, 0) == Int64(key.rawValue)
    }

    /// Reads the payload, which has at most `limit` bytes, and lends it to `body`.
    ///
    /// - Throws: ``KeychainFailure``: `payloadDamaged` if it has more; errors of `body`.
    static func read<R>(
        _ key: KeySerial, atMost limit: Int,
        _ body: (Span<UInt8>) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        var room = SecretBytes(byteCount: limit, for: .keys)
        let result = room.withMutableBytes { bytes in
            unsafe bytes.withUnsafeMutableBufferPointer { bytes in
                unsafe valet_read_key(key.rawValue, bytes.baseAddress, bytes.count)
            }
        }
        let count = Int(try check(result, during: .read))
        guard count <= limit else { throw KeychainFailure(.payloadDamaged, during: .parse) }
        return try room.withBytes { (bytes: Span<UInt8>) throws(KeychainFailure) in
            try body(bytes.extracting(first: count))
        }
    }

    /// Keys with their names.
    struct Named {
        var keys: [(key: KeySerial, name: String)] = []
        /// Why there may be others; nil if there are none.
        var failure: KeychainFailure?

        /// Notes a failed look. Keys that are gone, and those that this user may not see, are none.
        fileprivate mutating func note(_ result: Int) {
            let error = KeychainFailure(errno: Int32(-result), during: .find)
            switch error.code {
            case .keyNotFound, .keyExpired, .keyRevoked, .kernelRefuses: break
            default: failure = error
            }
        }
    }

    /// The keys of type `user` that all processes of the user find. Leaves out keys whose names are
    /// longer than `limit` bytes, and keys that this user may not see.
    static func keys(namedWithin limit: Int) -> Named {
        var found = Named()
        for keyring in Shared.allCases {
            withSerial(of: keyring) { keyring in
                for key in serials(in: keyring, &found) { addName(of: key, limit, to: &found) }
            }
        }
        return found
    }

    private static func serials(in keyring: Int32, _ found: inout Named) -> [KeySerial] {
        var count = 256
        while true {
            var numbers = [Int32](repeating: 0, count: count)
            let result = unsafe numbers.withUnsafeMutableBytes { bytes in
                unsafe valet_read_key(keyring, bytes.baseAddress, bytes.count)
            }
            guard result >= 0 else {
                found.note(Int(result))
                return []
            }
            let needed = Int(result) / MemoryLayout<Int32>.size
            if needed <= count { return numbers.prefix(needed).map(KeySerial.init(rawValue:)) }
            // Other processes may add keys at the same time.
            count = needed + 64
        }
    }

    private static func addName(of key: KeySerial, _ limit: Int, to found: inout Named) {
        var text = [UInt8](repeating: 0, count: 64 + limit)
        let result = unsafe text.withUnsafeMutableBytes { bytes in
            unsafe valet_describe_key(key.rawValue, bytes.baseAddress, bytes.count)
        }
        guard result >= 0 else { return found.note(Int(result)) }
        guard result >= 1, result <= text.count else { return }
        let parts = text.prefix(Int(result) - 1).split(
            separator: UInt8(ascii: ";"), maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].elementsEqual("user".utf8) else { return }
        found.keys.append((key, String(decoding: parts[4], as: UTF8.self)))
    }

    /// Replaces the payload atomically for all readers. A revoked key stays revoked. The key loses
    /// its timeout.
    static func update(_ key: KeySerial, payload: Span<UInt8>) throws(KeychainFailure) {
        let result = unsafe payload.withUnsafeBufferPointer { bytes in
            unsafe valet_update_key(key.rawValue, bytes.baseAddress, bytes.count)
        }
        try check(result, during: .update)
    }

    /// Lets every process of the user read the key, and nobody else.
    static func share(_ key: KeySerial) throws(KeychainFailure) {
        try control(KEYCTL_SETPERM, key, permissions, during: .publish)
    }

    /// Makes the kernel drop the key after `seconds` of a clock that can be set; 0 for never.
    static func setTimeout(_ seconds: UInt32, of key: KeySerial) throws(KeychainFailure) {
        try control(KEYCTL_SET_TIMEOUT, key, Int64(seconds), during: .publish)
    }

    /// Links the key into the user keyring, so that it outlives this thread. If that keyring is
    /// revoked or closed, links it into the user's persistent one.
    static func publish(_ key: KeySerial) throws(KeychainFailure) {
        do {
            try control(KEYCTL_LINK, key, Int64(KEY_SPEC_USER_KEYRING), during: .publish)
        } catch {
            switch error.code {
            case .keyRevoked, .keyExpired, .kernelRefuses:
                let result = withSerial(of: .persistent) { keyring in
                    valet_keyctl(KEYCTL_LINK, key.rawValue, Int64(keyring))
                }
                guard let result, result >= 0 else { throw error }
            // The key is in this thread's keyring, so the missing key is the user keyring itself.
            // The kernel makes it at first use, and had no room for it.
            case .keyNotFound:
                throw KeychainFailure(
                    .quotaExceeded, during: .publish, systemError: error.systemError)
            default: throw error
            }
        }
    }

    /// Removes the key from every process, as far as possible: unlinks it from the keyrings where
    /// processes find it, then makes it unreadable at once. A refused step counts as done.
    ///
    /// It is unlinked first, because a revoked key would stay linked and count towards the user's
    /// quota. A key that was not linked stays untouched unless `always`: invalidating it would use
    /// up some of the quota for good.
    ///
    /// - Parameter always: Whether to make the key unreadable even if it was not linked: for keys
    ///   that others could use otherwise.
    /// - Returns: Whether the key was usable before.
    @discardableResult
    static func end(_ key: KeySerial, always: Bool) -> Bool {
        let wasGood = isGood(key)
        let isUnlinked = Shared.allCases.contains { keyring in
            let result = withSerial(of: keyring) { keyring in
                valet_keyctl(KEYCTL_UNLINK, key.rawValue, Int64(keyring))
            }
            return result == 0
        }
        if isUnlinked || always, valet_keyctl(KEYCTL_INVALIDATE, key.rawValue, 0) != 0 {
            _ = valet_keyctl(KEYCTL_REVOKE, key.rawValue, 0)
        }
        return wasGood
    }

    /// Removes the key from the keyring of this thread.
    static func dropFromThread(_ key: KeySerial) {
        // If unlinking fails, the link ends with the thread.
        _ = valet_keyctl(KEYCTL_UNLINK, key.rawValue, Int64(KEY_SPEC_THREAD_KEYRING))
    }

    /// Lends `body` the number of a keyring; nil if the kernel has none.
    @discardableResult
    private static func withSerial<R>(of keyring: Shared, _ body: (Int32) -> R) -> R? {
        switch keyring {
        case .user: return body(KEY_SPEC_USER_KEYRING)
        case .persistent:
            // This thread possesses the keyring, because it is linked into the thread's own
            // keyring.
            let serial = valet_persistent_keyring()
            guard serial > 0 else { return nil }
            defer { dropFromThread(KeySerial(rawValue: Int32(serial))) }
            return body(Int32(serial))
        }
    }

    /// Why the kernel or a sandbox refuses keyrings to this process; nil if it does not.
    static func refusal() -> KeychainFailure? {
        let result = valet_keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0)
        guard result < 0 else { return nil }
        let error = KeychainFailure(errno: Int32(-result), during: .probe)
        // A used-up quota gives ENOKEY here; there may be room later.
        guard error.code == .kernelRefuses else { return nil }
        return withSerial(of: .persistent) { _ in true } == nil ? error : nil
    }

    /// Why the user keyring itself cannot be used; nil if it can.
    static func userKeyringError() -> KeychainFailure? {
        let result = valet_keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0)
        return result < 0 ? KeychainFailure(errno: Int32(-result), during: .probe) : nil
    }

    /// The used part of the user's quota, in words (proc_keys(5)); nil if the kernel does not tell.
    static func room() -> String? {
        let user = "\(geteuid()):"
        let lines = TextFile.contents("/proc/key-users")?.split(separator: "\n") ?? []
        for line in lines {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count == 5, words[0] == user else { continue }
            let (keys, bytes) = (words[3].split(separator: "/"), words[4].split(separator: "/"))
            guard keys.count == 2, bytes.count == 2 else { return nil }
            return "\(keys[0]) of \(keys[1]) keys, \(bytes[0]) of \(bytes[1]) bytes"
        }
        return nil
    }

    private static func control(
        _ operation: Int32, _ key: KeySerial, _ argument: Int64,
        during purpose: LockStateOperation
    ) throws(KeychainFailure) {
        try check(valet_keyctl(operation, key.rawValue, argument), during: purpose)
    }

    @discardableResult
    private static func check(
        _ result: Int64, during operation: LockStateOperation
    ) throws(KeychainFailure) -> Int64 {
        guard result >= 0 else {
            throw KeychainFailure(errno: Int32(-result), during: operation)
        }
        return result
    }
}
