// SPDX-License-Identifier: Apache-2.0

internal import ValetCSodium

/// Safe calls of libsodium's ciphers and hashes.
///
/// Every key is a ``SecretBytes``. Making the first one makes ``SecretArena/shared``, which
/// initialises libsodium.
@usableFromInline enum Sodium {
    static let tagByteCount = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)
    static let nonceByteCount = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
    private static let hashStateByteCount = crypto_generichash_statebytes()

    /// Tells whether both hold the same bytes, in a time that depends on their number alone.
    @usableFromInline static func isEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe lend(left, right) { left, right in
            unsafe sodium_memcmp(left.start, right.start, left.count) == 0
        }
    }

    /// Overwrites the start of `target` with `source`, which is not longer.
    static func copy(_ source: Span<UInt8>, to target: inout MutableSpan<UInt8>) {
        precondition(source.count <= target.count, "copying more than there is room for")
        unsafe lend(source) { source in
            unsafe lend(&target) { unsafe $0.start.update(from: source.start, count: source.count) }
        }
    }
}

/// XChaCha20-Poly1305.
extension Sodium {
    /// Seals under a key of 32 bytes: nonce ‖ ciphertext ‖ tag.
    static func seal(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8>, key: Span<UInt8>, nonce: Span<UInt8>
    ) -> [UInt8] {
        var sealed = [UInt8](
            repeating: 0, count: nonceByteCount + plaintext.count + tagByteCount)
        var target = sealed.mutableSpan
        copy(nonce, to: &target)
        seal(plaintext, associatedData: associatedData, key: key, nonce: nonce, into: &target)
        return sealed
    }

    /// Seals under a key of 32 bytes: ciphertext ‖ tag.
    static func sealWithoutNonce(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8>, key: Span<UInt8>, nonce: Span<UInt8>
    ) -> [UInt8] {
        var sealed = [UInt8](repeating: 0, count: plaintext.count + tagByteCount)
        var target = sealed.mutableSpan
        seal(plaintext, associatedData: associatedData, key: key, nonce: nonce, into: &target)
        return sealed
    }

    /// Writes ciphertext ‖ tag to the end of `target`.
    private static func seal(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8>, key: Span<UInt8>,
        nonce: Span<UInt8>, into target: inout MutableSpan<UInt8>
    ) {
        precondition(key.count == 32 && nonce.count == nonceByteCount, "wrong key or nonce")
        let start = target.count - plaintext.count - tagByteCount
        precondition(start >= 0, "no room to seal into")
        let code = unsafe lend(&target) { sealed in
            unsafe lend(plaintext, associatedData) { plaintext, data in
                unsafe lend(key, nonce) { key, nonce in
                    unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
                        sealed.start + start, nil, plaintext.start, plaintext.count64,
                        data.start, data.count64, nil, nonce.start, key.start)
                }
            }
        }
        precondition(code == 0, "sealing cannot fail")
    }

    /// Opens ciphertext ‖ tag. `plaintext` must be exactly as long as the ciphertext.
    ///
    /// - Returns: False if authentication fails; `plaintext` is unusable then.
    static func open(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, key: Span<UInt8>, nonce: Span<UInt8>,
        into plaintext: inout MutableSpan<UInt8>
    ) -> Bool {
        precondition(
            key.count == 32 && nonce.count == nonceByteCount
                && sealed.count == plaintext.count + tagByteCount,
            "wrong key or nonce, or no room to open into")
        return unsafe lend(&plaintext) { plaintext in
            unsafe lend(sealed, associatedData) { sealed, data in
                unsafe lend(key, nonce) { key, nonce in
                    unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
                        plaintext.start, nil, nil, sealed.start, sealed.count64, data.start,
                        data.count64, nonce.start, key.start) == 0
                }
            }
        }
    }

    /// Opens nonce ‖ ciphertext ‖ tag. `plaintext` must be exactly as long as the ciphertext.
    ///
    /// - Returns: False if authentication fails; `plaintext` is unusable then.
    static func open(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, key: Span<UInt8>,
        into plaintext: inout MutableSpan<UInt8>
    ) -> Bool {
        open(
            sealed.extracting(droppingFirst: nonceByteCount), associatedData: associatedData,
            key: key, nonce: sealed.extracting(first: nonceByteCount), into: &plaintext)
    }
}

/// BLAKE2b-256.
extension Sodium {
    /// Hashes without a key.
    static func hash(_ bytes: Span<UInt8>, into digest: inout MutableSpan<UInt8>) {
        let code = unsafe lend(bytes) { bytes in
            unsafe lend(&digest) { digest in
                unsafe crypto_generichash(
                    digest.start, digest.count, bytes.start, bytes.count64, nil, 0)
            }
        }
        precondition(code == 0, "hashing cannot fail")
    }

    /// Room for the state of a hash; aligned to 64 bytes, as the state must be.
    static func roomForHashState() -> SecretBytes {
        SecretBytes(byteCount: hashStateByteCount, for: .keys)
    }

    static func startHash(key: Span<UInt8>, into state: inout SecretBytes) {
        let code = state.withMutableBytes { state in
            unsafe lend(&state) { state in
                unsafe lend(key) { key in
                    unsafe crypto_generichash_init(
                        OpaquePointer(state.start), key.start, key.count, Digest.byteCount)
                }
            }
        }
        precondition(code == 0, "hashing cannot fail")
    }

    /// Appends bytes to the hashed data.
    static func hash(_ bytes: Span<UInt8>, into state: inout SecretBytes) {
        let code = state.withMutableBytes { state in
            unsafe lend(&state) { state in
                unsafe lend(bytes) { bytes in
                    unsafe crypto_generichash_update(
                        OpaquePointer(state.start), bytes.start, bytes.count64)
                }
            }
        }
        precondition(code == 0, "hashing cannot fail")
    }

    /// Writes the digest and makes the state unusable.
    static func finishHash(_ state: inout SecretBytes, into digest: inout MutableSpan<UInt8>) {
        let code = state.withMutableBytes { state in
            unsafe lend(&state) { state in
                unsafe lend(&digest) { digest in
                    unsafe crypto_generichash_final(
                        OpaquePointer(state.start), digest.start, digest.count)
                }
            }
        }
        precondition(code == 0, "hashing cannot fail")
    }
}

/// X25519 and Argon2id.
extension Sodium {
    /// Computes the public half of a secret.
    static func publicKey(of secret: Span<UInt8>, into publicKey: inout MutableSpan<UInt8>) {
        precondition(secret.count == 32 && publicKey.count == 32, "not X25519 keys")
        let code = unsafe lend(secret) { secret in
            unsafe lend(&publicKey) { unsafe crypto_scalarmult_base($0.start, secret.start) }
        }
        precondition(code == 0, "a secret always has a public half")
    }

    /// Computes the X25519 shared secret of `secret` and `publicKey`.
    ///
    /// - Returns: False if it is zero, as for public keys of low order.
    static func agree(
        _ secret: Span<UInt8>, with publicKey: Span<UInt8>, into shared: inout MutableSpan<UInt8>
    ) -> Bool {
        precondition(secret.count == 32 && publicKey.count == 32, "not X25519 keys")
        return unsafe lend(&shared) { shared in
            unsafe lend(secret, publicKey) { secret, publicKey in
                unsafe crypto_scalarmult(shared.start, secret.start, publicKey.start) == 0
            }
        }
    }

    /// Stretches a passphrase.
    ///
    /// - Returns: False if there is not enough memory.
    static func argon2id(
        _ passphrase: Span<UInt8>, salt: Span<UInt8>, cost: Argon2Cost,
        into key: inout MutableSpan<UInt8>
    ) -> Bool {
        precondition(salt.count == Int(crypto_pwhash_argon2id_SALTBYTES), "not a salt")
        return unsafe lend(&key) { key in
            unsafe lend(passphrase, salt) { passphrase, salt in
                unsafe passphrase.start.withMemoryRebound(
                    to: CChar.self, capacity: passphrase.count
                ) { characters in
                    unsafe crypto_pwhash_argon2id(
                        key.start, UInt64(key.count), characters, passphrase.count64, salt.start,
                        UInt64(cost.passes), Int(cost.memoryKiB) * 1024,
                        crypto_pwhash_argon2id_ALG_ARGON2ID13) == 0
                }
            }
        }
    }
}

/// Ed25519.
extension Sodium {
    static let signingSecretByteCount = Int(crypto_sign_ed25519_SECRETKEYBYTES)
    static let signatureByteCount = Int(crypto_sign_ed25519_BYTES)

    /// Derives a pair from a seed of 32 bytes.
    static func signingPair(
        seed: Span<UInt8>, publicKey: inout MutableSpan<UInt8>, secret: inout MutableSpan<UInt8>
    ) {
        precondition(
            seed.count == 32 && publicKey.count == 32 && secret.count == signingSecretByteCount,
            "not Ed25519 keys")
        let code = unsafe lend(&publicKey) { publicKey in
            unsafe lend(&secret) { secret in
                unsafe lend(seed) { seed in
                    unsafe crypto_sign_ed25519_seed_keypair(
                        publicKey.start, secret.start, seed.start)
                }
            }
        }
        precondition(code == 0, "a seed always has a pair")
    }

    /// Signs with the secret of a pair.
    static func sign(
        _ message: Span<UInt8>, secret: Span<UInt8>, into signature: inout MutableSpan<UInt8>
    ) {
        precondition(
            secret.count == signingSecretByteCount && signature.count == signatureByteCount,
            "not an Ed25519 secret")
        let code = unsafe lend(&signature) { signature in
            unsafe lend(message, secret) { message, secret in
                unsafe crypto_sign_ed25519_detached(
                    signature.start, nil, message.start, message.count64, secret.start)
            }
        }
        precondition(code == 0, "signing cannot fail")
    }

    /// Whether `signature` is valid for `message` under `publicKey`. False for invalid public keys.
    static func isSignature(
        _ signature: Span<UInt8>, of message: Span<UInt8>, by publicKey: Span<UInt8>
    ) -> Bool {
        precondition(
            signature.count == signatureByteCount && publicKey.count == 32, "not a signature")
        return unsafe lend(signature) { signature in
            unsafe lend(message, publicKey) { message, publicKey in
                unsafe crypto_sign_ed25519_verify_detached(
                    signature.start, message.start, message.count64, publicKey.start) == 0
            }
        }
    }
}

/// A span as C takes it, valid within the closure that it is lent to.
@unsafe struct Lent {
    let start: UnsafePointer<UInt8>
    let count: Int
    var count64: UInt64 { unsafe UInt64(count) }
}

/// A mutable span as C takes it, valid within the closure that it is lent to.
@unsafe struct MutableLent {
    let start: UnsafeMutablePointer<UInt8>
    let count: Int
}

@inline(__always)
func lend<R>(_ span: Span<UInt8>, _ body: (Lent) -> R) -> R {
    unsafe span.withUnsafeBufferPointer { bytes in
        if let start = bytes.baseAddress {
            return unsafe body(Lent(start: start, count: bytes.count))
        }
        // libsodium's headers require an address even for no bytes.
        return unsafe withUnsafePointer(to: 0) { unsafe body(Lent(start: $0, count: 0)) }
    }
}

@inline(__always)
func lend<R>(
    _ first: Span<UInt8>, _ second: Span<UInt8>, _ body: (Lent, Lent) -> R
) -> R {
    unsafe lend(first) { first in
        unsafe lend(second) { second in unsafe body(first, second) }
    }
}

@inline(__always)
func lend<R>(_ span: inout MutableSpan<UInt8>, _ body: (MutableLent) -> R) -> R {
    unsafe span.withUnsafeMutableBufferPointer { bytes in
        if let start = bytes.baseAddress {
            return unsafe body(MutableLent(start: start, count: bytes.count))
        }
        var nothing: UInt8 = 0
        return unsafe withUnsafeMutablePointer(to: &nothing) {
            unsafe body(MutableLent(start: $0, count: 0))
        }
    }
}

extension MutableSpan<UInt8> {
    /// Writes the number, big endian, over what is at `offset`.
    @inline(__always)
    mutating func write(_ number: some FixedWidthInteger, at offset: Int) {
        precondition(offset + number.bitWidth / 8 <= count, "no room for a number")
        unsafe withUnsafeMutableBytes { bytes in
            unsafe bytes.storeBytes(
                of: number.bigEndian, toByteOffset: offset, as: type(of: number))
        }
    }

    /// Writes the bytes over what is at `offset`.
    @inline(__always)
    mutating func write(_ part: Span<UInt8>, at offset: Int) {
        precondition(offset + part.count <= count, "no room for bytes")
        unsafe withUnsafeMutableBytes { bytes in
            unsafe lend(part) { part in
                guard let base = bytes.baseAddress else { return }
                unsafe (base + offset).copyMemory(from: part.start, byteCount: part.count)
            }
        }
    }
}

extension [UInt8] {
    @usableFromInline init(copying bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { bytes in unsafe Array(bytes) }
    }

    /// Writes the number, big endian, over what is at `offset`.
    mutating func write(_ number: some FixedWidthInteger, at offset: Int) {
        var span = mutableSpan
        span.write(number, at: offset)
    }

    /// Writes the bytes over what is at `offset`.
    mutating func write(_ part: Span<UInt8>, at offset: Int) {
        var span = mutableSpan
        span.write(part, at: offset)
    }

    /// Writes `LP(part)` over what is at `offset`: the number of bytes, big endian in 4 bytes, then
    /// the bytes. A `marker` is written and counted as the first of them.
    mutating func write(lengthPrefixed part: Span<UInt8>, marker: UInt8?, at offset: Int) {
        let bodyCount = part.count + (marker == nil ? 0 : 1)
        precondition(offset + 4 + bodyCount <= count, "no room for a part")
        let prefix = UInt32(bodyCount).bigEndian
        unsafe withUnsafeMutableBytes { bytes in
            unsafe bytes.storeBytes(of: prefix, toByteOffset: offset, as: UInt32.self)
            var start = offset + 4
            if let marker {
                unsafe bytes[start] = marker
                start += 1
            }
            unsafe lend(part) { part in
                guard let base = bytes.baseAddress else { return }
                unsafe (base + start).copyMemory(from: part.start, byteCount: part.count)
            }
        }
    }
}

/// The secretstream of XChaCha20-Poly1305. A chunk is its tag (one byte, sealed) ‖ ciphertext ‖
/// MAC 16.
extension Sodium {
    static let chunkOverhead = Int(crypto_secretstream_xchacha20poly1305_abytes())
    static let messageTag = crypto_secretstream_xchacha20poly1305_tag_message()
    static let finalTag = crypto_secretstream_xchacha20poly1305_tag_final()
    private static let streamStateByteCount = crypto_secretstream_xchacha20poly1305_statebytes()

    /// Starts a stream that seals, under a key of 32 bytes, with a random header.
    ///
    /// - Returns: The state of the stream.
    static func startSealing(
        key: Span<UInt8>, header: inout MutableSpan<UInt8>
    ) -> SecretBytes {
        precondition(key.count == 32 && header.count == 24, "wrong key or header")
        var state = SecretBytes(byteCount: streamStateByteCount, for: .keys)
        let code = unsafe withState(&state) { state in
            unsafe lend(&header) { header in
                unsafe lend(key) { key in
                    unsafe crypto_secretstream_xchacha20poly1305_init_push(
                        state, header.start, key.start)
                }
            }
        }
        precondition(code == 0, "starting a stream cannot fail")
        return state
    }

    /// Starts a stream that opens.
    static func startOpening(key: Span<UInt8>, header: Span<UInt8>) -> SecretBytes {
        precondition(key.count == 32 && header.count == 24, "wrong key or header")
        var state = SecretBytes(byteCount: streamStateByteCount, for: .keys)
        let code = unsafe withState(&state) { state in
            unsafe lend(key, header) { key, header in
                unsafe crypto_secretstream_xchacha20poly1305_init_pull(
                    state, header.start, key.start)
            }
        }
        precondition(code == 0, "starting a stream cannot fail")
        return state
    }

    /// Seals the next chunk into `sealed`, which must be ``chunkOverhead`` bytes longer.
    static func sealChunk(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8>, isLast: Bool,
        state: inout SecretBytes, into sealed: inout MutableSpan<UInt8>
    ) {
        precondition(sealed.count == plaintext.count + chunkOverhead, "no room to seal into")
        let code = unsafe withState(&state) { state in
            unsafe lend(&sealed) { sealed in
                unsafe lend(plaintext, associatedData) { plaintext, data in
                    unsafe crypto_secretstream_xchacha20poly1305_push(
                        state, sealed.start, nil, plaintext.start, plaintext.count64, data.start,
                        data.count64, isLast ? finalTag : messageTag)
                }
            }
        }
        precondition(code == 0, "sealing a chunk cannot fail")
    }

    /// Opens the next chunk into `plaintext`, which must be ``chunkOverhead`` bytes shorter.
    ///
    /// - Returns: Its tag; nil if it is not the next chunk of this stream. Then `plaintext` is
    ///   unusable, and the stream is unchanged.
    static func openChunk(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, state: inout SecretBytes,
        into plaintext: inout MutableSpan<UInt8>
    ) -> UInt8? {
        precondition(sealed.count == plaintext.count + chunkOverhead, "no room to open into")
        var tag: UInt8 = 0
        let code = unsafe withState(&state) { state in
            unsafe lend(&plaintext) { plaintext in
                unsafe lend(sealed, associatedData) { sealed, data in
                    unsafe crypto_secretstream_xchacha20poly1305_pull(
                        state, plaintext.start, nil, &tag, sealed.start, sealed.count64,
                        data.start, data.count64)
                }
            }
        }
        return code == 0 ? tag : nil
    }

    private static func withState(
        _ state: inout SecretBytes,
        _ body: (UnsafeMutablePointer<crypto_secretstream_xchacha20poly1305_state>) -> Int32
    ) -> Int32 {
        state.withMutableBytes { bytes in
            unsafe lend(&bytes) { bytes in
                unsafe bytes.start.withMemoryRebound(
                    to: crypto_secretstream_xchacha20poly1305_state.self, capacity: 1
                ) { unsafe body($0) }
            }
        }
    }
}
