// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

/// A stream of sealed chunks. Each chunk opens only after those before it, and the last one is
/// marked as the last.
///
/// libsodium's `crypto_secretstream_xchacha20poly1305`. Format: docs/FORMAT.md §11.2.
package enum SealedStream {
    /// How much longer a sealed chunk is than its plaintext: 17.
    package static let overhead = Sodium.chunkOverhead
    /// How many bytes at the end of a chunk depend on it and on all chunks before it.
    package static let tagByteCount = Sodium.tagByteCount
}

package struct StreamSealer: ~Copyable, Sendable {
    /// A random value that opening the stream needs in addition to the key. It is not secret.
    package let header: StreamHeader
    private var state: SecretBytes

    package init<P: SealsStreams>(under key: borrowing SymmetricKey<P>) {
        var bytes = [UInt8](repeating: 0, count: 24)
        var span = bytes.mutableSpan
        state = key.withBytes { key in Sodium.startSealing(key: key, header: &span) }
        header = StreamHeader { (target: inout MutableSpan<UInt8>) in
            Sodium.copy(bytes.span, to: &target)
        }
    }

    /// Seals the next chunk into `sealed`, which is ``SealedStream/overhead`` bytes longer.
    ///
    /// `associatedData` is bound to the chunk and is not part of the result. Nothing may be sealed
    /// after the last chunk.
    package mutating func seal(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8>, isLast: Bool,
        into sealed: inout [UInt8]
    ) {
        var target = sealed.mutableSpan
        Sodium.sealChunk(
            plaintext, associatedData: associatedData, isLast: isLast, state: &state, into: &target)
    }
}

package struct StreamOpener: ~Copyable, Sendable {
    private var state: SecretBytes

    /// Starts with the header of the ``StreamSealer``.
    package init<P: SealsStreams>(under key: borrowing SymmetricKey<P>, header: StreamHeader) {
        state = key.withBytes { key in
            header.withBytes { header in Sodium.startOpening(key: key, header: header) }
        }
    }

    /// Opens the next chunk into `plaintext`, which is ``SealedStream/overhead`` bytes shorter.
    ///
    /// - Returns: Whether it is the last one.
    /// - Throws: `tampered` if it is not the next chunk of this stream;
    ///   `malformed` if its tag is one that this format does not use.
    package mutating func open(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, into plaintext: inout SecretBytes
    ) throws(SystemError) -> Bool {
        let tag = plaintext.withMutableBytes { target in
            Sodium.openChunk(
                sealed, associatedData: associatedData, state: &state, into: &target)
        }
        switch tag {
        case Sodium.messageTag: return false
        case Sodium.finalTag: return true
        case nil: throw SystemError.sealing(.tampered, during: .open, of: "chunk")
        default: throw SystemError.sealing(.malformed, during: .open, of: "chunk")
        }
    }
}
