// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetSealing

/// Speaks to a TPM in plain bytes, without tpm2-tss: what tests do to a TPM, and how they count
/// what is left in it.
package final class RawTPM {
    /// What it answers instead.
    package struct Refusal: Error {
        /// TPM_RC.
        package let code: UInt32
    }

    private let descriptor: Int32

    /// Connects to the socket at `path`.
    package init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) {
            unsafe $0.copyBytes(from: path.utf8)
        }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe connect(descriptor, address, length)
            }
        }
        guard result == 0 else { throw Refusal(code: UInt32(errno)) }
    }

    deinit { close(descriptor) }

    /// What follows the header of the answer.
    ///
    /// - Parameter handle: What the command is about, authorized with an empty value.
    @discardableResult
    package func command(
        _ code: UInt32, on handle: UInt32? = nil, more: [UInt32] = [], _ parameters: [UInt8] = []
    ) throws -> [UInt8] {
        var body: [UInt8] = []
        for handle in [handle].compactMap({ $0 }) + more { body.append(bigEndian: handle) }
        if handle != nil {
            // TPM_RS_PW, no nonce, no attributes, no value.
            body += [0, 0, 0, 9, 0x40, 0, 0, 9, 0, 0, 0, 0, 0]
        }
        body += parameters
        var bytes: [UInt8] = [0x80, handle == nil ? 1 : 2]
        bytes.append(bigEndian: UInt32(10 + body.count))
        bytes.append(bigEndian: code)
        return try exchange(bytes + body)
    }

    private func exchange(_ bytes: [UInt8]) throws -> [UInt8] {
        guard unsafe write(descriptor, bytes, bytes.count) == bytes.count else {
            throw Refusal(code: 0)
        }
        var answer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(descriptor, &answer, answer.count)
        guard count >= 10 else { throw Refusal(code: 0) }
        let code = answer[6..<10].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard code == 0 else { throw Refusal(code: code) }
        return Array(answer[10..<count])
    }

    /// The handles of one kind that the TPM has.
    package func handles(from first: UInt32) throws -> [UInt32] {
        var parameters: [UInt8] = [0, 0, 0, 1]
        parameters.append(bigEndian: first)
        let answer = try command(0x17a, parameters + [0, 0, 0, 0xfe])
        return stride(from: 9, to: answer.count, by: 4).map { place in
            answer[place..<(place + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
    }

    /// Transient objects and loaded sessions.
    package func leftovers() throws -> Int {
        try handles(from: 0x8000_0000).count + handles(from: 0x0200_0000).count
    }

    /// TPM2_Clear, with the lockout hierarchy: new owner, new storage root key.
    package func clear() throws { try command(0x126, on: 0x4000_000a) }

    /// TPM2_PCR_Extend with a digest of zeros.
    package func extend(_ register: UInt32) throws {
        let digest: [UInt8] = [0, 0, 0, 1, 0, 0x0b] + [UInt8](repeating: 0, count: 32)
        try command(0x182, on: register, digest)
    }

    /// TPM2_DictionaryAttackParameters: tries, and seconds until one is forgiven.
    package func setDictionaryAttack(limit: UInt32, recoverySeconds: UInt32) throws {
        var parameters: [UInt8] = []
        for number in [limit, recoverySeconds, 10] { parameters.append(bigEndian: number) }
        try command(0x13a, on: 0x4000_000a, parameters)
    }

    /// TPM2_DictionaryAttackLockReset.
    package func resetLockout() throws { try command(0x139, on: 0x4000_000a) }

    /// TPM2_HierarchyChangeAuth of the lockout hierarchy, whose value is empty before.
    package func setLockoutAuthorization(_ value: [UInt8]) throws {
        try command(0x129, on: 0x4000_000a, [0, UInt8(value.count)] + value)
    }

    /// TPM2_HierarchyChangeAuth of the owner.
    package func setOwnerAuthorization(_ value: [UInt8]) throws {
        try command(0x129, on: 0x4000_0001, [0, UInt8(value.count)] + value)
    }

    /// Kinds of storage keys.
    package enum StorageKey: CaseIterable, Sendable {
        /// P-256 with another unique field than the template's.
        case ecc
        /// As Windows makes it.
        case rsa

        /// What follows SHA-256, attributes, no policy, AES-128 in CFB and no scheme.
        fileprivate var parameters: [UInt8] {
            switch self {
            // P-256, no derivation, x, y.
            case .ecc: [0, 3, 0, 0x10, 0, 1, 7, 0, 1, 7]
            // 2,048 bits, the usual exponent, no unique field.
            case .rsa: [8, 0, 0, 0, 0, 0, 0, 0]
            }
        }
    }

    /// Makes a storage key that is not the template's; loaded afterwards.
    package func makeStorageKey(_ kind: StorageKey = .ecc) throws -> UInt32 {
        // TPM2B_SENSITIVE_CREATE, then TPMT_PUBLIC.
        let area: [UInt8] =
            [0, kind == .ecc ? 0x23 : 1, 0, 0x0b, 0, 3, 4, 0x72, 0, 0, 0, 6, 0, 0x80, 0, 0x43]
            + [0, 0x10] + kind.parameters
        let parameters: [UInt8] =
            [0, 4, 0, 0, 0, 0, 0, UInt8(area.count)] + area + [0, 0, 0, 0, 0, 0]
        let answer = try command(0x131, on: 0x4000_0001, parameters)
        return answer[..<4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Makes that key persistent where machines keep theirs.
    package func persistStorageKey(_ kind: StorageKey = .ecc) throws {
        let key = try makeStorageKey(kind)
        try command(0x120, on: 0x4000_0001, more: [key], [0x81, 0, 0, 1])
        try command(0x165, [UInt8(key >> 24), 0, 0, UInt8(truncatingIfNeeded: key)])
    }
}
