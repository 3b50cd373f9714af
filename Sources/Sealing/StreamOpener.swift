// SPDX-License-Identifier: Apache-2.0

package import ValetSecretMemory

/// The opening end of a stream.
package struct StreamOpener: ~Copyable, Sendable {
    private var state: SecretBytes

    /// Starts with the header that the sealing end made.
    package init<P: SealsStreams>(under key: borrowing SymmetricKey<P>, header: StreamHeader) {
        state = key.withBytes { key in
            header.withBytes { header in Sodium.startOpening(key: key, header: header) }
        }
    }

    /// Opens the next chunk into `plaintext`, which is ``SealedStream/overhead`` bytes shorter.
    ///
    /// - Returns: Whether it is the last one.
    /// - Throws: ``SealingError/Code/tampered`` if it is not the next chunk of this stream;
    ///   ``SealingError/Code/malformed`` if its tag is one that is not in use here.
    package mutating func open(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, into plaintext: inout SecretBytes
    ) throws(SealingError) -> Bool {
        let tag = plaintext.withMutableBytes { target in
            Sodium.openChunk(
                sealed, associatedData: associatedData, state: &state, into: &target)
        }
        switch tag {
        case Sodium.messageTag: return false
        case Sodium.finalTag: return true
        case nil: throw SealingError(.tampered, during: .open, of: "chunk")
        default: throw SealingError(.malformed, during: .open, of: "chunk")
        }
    }
}
