// SPDX-License-Identifier: Apache-2.0

/// A stream of sealed chunks: each opens only after those before it, and the last one says that it
/// is the last.
///
/// libsodium's `crypto_secretstream_xchacha20poly1305`. Format: docs/FORMAT.md §11.2.
package enum SealedStream {
    /// How much longer a sealed chunk is than its plaintext: 17.
    package static let overhead = Sodium.chunkOverhead
    /// How many bytes at the end of a chunk depend on it and on all chunks before it.
    package static let tagByteCount = Sodium.tagByteCount
}
