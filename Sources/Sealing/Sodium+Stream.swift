// SPDX-License-Identifier: Apache-2.0

internal import ValetCSodium
internal import ValetSecretMemory

/// The secretstream of XChaCha20-Poly1305. A chunk is one byte with its tag, sealed, ‖ ciphertext
/// ‖ MAC 16.
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

    /// Seals the next chunk into exactly the room that it needs.
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

    /// Opens the next chunk, at least ``chunkOverhead`` bytes, into exactly the room that it needs.
    ///
    /// - Returns: Its tag; nil if it is not the next chunk of this stream: `plaintext` then holds
    ///   nothing of value, and the stream is where it was.
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
