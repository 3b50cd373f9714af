// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory

/// The sealing end of a stream.
package struct StreamSealer: ~Copyable, Sendable {
    /// What the other end needs beside the key; random, not secret.
    package let header: StreamHeader
    private var state: SecretBytes

    /// Starts a stream.
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
