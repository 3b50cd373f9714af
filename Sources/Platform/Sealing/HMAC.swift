// SPDX-License-Identifier: Apache-2.0

internal import ValetCSodium
internal import ValetSystem

/// HMAC (RFC 2104), for one-time codes, whose issuers choose the hash, and for what other programs
/// require: the transfer of secrets to programs of the desktop. `valet copy` marks values with it.
///
/// libsodium has SHA-256 and SHA-512. SHA-1 comes from libcrypto, else from libgcrypt, which are
/// loaded when it is needed: docs/decisions/0073-one-time-codes.md.
package enum HMAC: CaseIterable, Sendable {
    case sha1, sha256, sha512

    /// How many bytes a code has.
    package var byteCount: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }

    /// The libraries that may have SHA-1, in the order in which they are tried.
    package static let libraries = ["libcrypto.so.3", "libcrypto.so.1.1", "libgcrypt.so.20"]

    /// The code of a message under a key of any length; nil if no library has the hash.
    package func code(of message: Span<UInt8>, key: Span<UInt8>) -> SecretBytes? {
        code(of: message, key: key, Self.libraries)
    }

    func code(
        of message: Span<UInt8>, key: Span<UInt8>, _ libraries: [String]
    ) -> SecretBytes? {
        var code = SecretBytes(byteCount: byteCount)
        let isMade = code.withMutableBytes { code in
            unsafe lend(&code) { code in
                unsafe lend(key, message) { key, message in
                    switch self {
                    case .sha1: unsafe Self.makeSHA1(code, key, message, libraries)
                    case .sha256: unsafe Self.makeSHA256(code, key, message)
                    case .sha512: unsafe Self.makeSHA512(code, key, message)
                    }
                }
            }
        }
        guard isMade else { return nil }
        return code
    }

    private static func makeSHA256(_ code: MutableLent, _ key: Lent, _ message: Lent) -> Bool {
        var state = crypto_auth_hmacsha256_state()
        defer { unsafe sodium_memzero(&state, MemoryLayout.size(ofValue: state)) }
        return unsafe crypto_auth_hmacsha256_init(&state, key.start, key.count) == 0
            && crypto_auth_hmacsha256_update(&state, message.start, message.count64) == 0
            && crypto_auth_hmacsha256_final(&state, code.start) == 0
    }

    private static func makeSHA512(_ code: MutableLent, _ key: Lent, _ message: Lent) -> Bool {
        var state = crypto_auth_hmacsha512_state()
        defer { unsafe sodium_memzero(&state, MemoryLayout.size(ofValue: state)) }
        return unsafe crypto_auth_hmacsha512_init(&state, key.start, key.count) == 0
            && crypto_auth_hmacsha512_update(&state, message.start, message.count64) == 0
            && crypto_auth_hmacsha512_final(&state, code.start) == 0
    }

    private static func makeSHA1(
        _ code: MutableLent, _ key: Lent, _ message: Lent, _ libraries: [String]
    ) -> Bool {
        libraries.contains { name in
            guard let library = DynamicLibrary(name) else { return false }
            return unsafe makeByOpenSSL(library, code, key, message)
                || makeByGcrypt(library, code, key, message)
        }
    }

    /// `HMAC(3)` of OpenSSL, which wipes its own copies.
    private static func makeByOpenSSL(
        _ library: DynamicLibrary, _ code: MutableLent, _ key: Lent, _ message: Lent
    ) -> Bool {
        typealias Hash = @convention(c) () -> OpaquePointer?
        typealias Make =
            @convention(c) (
                OpaquePointer?, UnsafePointer<UInt8>, Int32, UnsafePointer<UInt8>, Int,
                UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt32>
            ) -> UnsafeMutablePointer<UInt8>?
        guard let keyCount = unsafe Int32(exactly: key.count),
            let hash = unsafe library.function("EVP_sha1", as: Hash.self),
            let make = unsafe library.function("HMAC", as: Make.self)
        else { return false }
        var byteCount: UInt32 = 0
        let result = unsafe make(
            hash(), key.start, keyCount, message.start, message.count, code.start, &byteCount)
        return unsafe result != nil && Int(byteCount) == code.count
    }

    /// A part of what libgcrypt hashes: its `gcry_buffer_t`.
    @unsafe private struct Buffer {
        var size = 0
        var offset = 0
        var byteCount: Int
        var start: UnsafePointer<UInt8>
    }

    /// `gcry_md_hash_buffers` with `GCRY_MD_SHA1` and `GCRY_MD_FLAG_HMAC`, both 2: the first buffer
    /// is the key.
    private static func makeByGcrypt(
        _ library: DynamicLibrary, _ code: MutableLent, _ key: Lent, _ message: Lent
    ) -> Bool {
        typealias Check = @convention(c) (UnsafePointer<CChar>?) -> UnsafePointer<CChar>?
        typealias Make =
            @convention(c) (
                Int32, UInt32, UnsafeMutablePointer<UInt8>, UnsafeRawPointer, Int32
            ) -> UInt32
        guard let check = unsafe library.function("gcry_check_version", as: Check.self),
            let make = unsafe library.function("gcry_md_hash_buffers", as: Make.self)
        else { return false }
        // This call initialises the library.
        guard unsafe check(nil) != nil else { return false }
        let buffers = unsafe [
            Buffer(byteCount: key.count, start: key.start),
            Buffer(byteCount: message.count, start: message.start),
        ]
        return unsafe buffers.withUnsafeBytes { buffers in
            guard let start = buffers.baseAddress else { return false }
            return unsafe make(2, 2, code.start, start, 2) == 0
        }
    }
}
