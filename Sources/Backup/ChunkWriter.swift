// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

/// Cuts content into chunks and writes them, sealed: docs/FORMAT.md §11.2.
struct ChunkWriter: ~Copyable {
    private var file: StagedFile
    private var sealer: StreamSealer
    private let header: [UInt8]
    private var content = SecretBytes(byteCount: Chunk.contentByteCount)
    private var filled = 0
    private var sealed = [UInt8](repeating: 0, count: Chunk.byteCount)

    /// Writes the header; `sealer` is the one whose header that header has.
    init(
        into file: consuming StagedFile, sealer: consuming StreamSealer, header: BackupHeader
    ) throws(BackupError) {
        self.file = file
        self.sealer = sealer
        self.header = header.bytes
        try write(header.bytes)
    }

    /// Appends content.
    ///
    /// - Throws: ``BackupError``: `diskFull`, `io`, `tooLarge`; from then on always.
    mutating func append(_ bytes: Span<UInt8>) throws(BackupError) {
        var done = 0
        while done < bytes.count {
            // A full chunk waits for what comes next: it may be the last one.
            if filled == Chunk.contentByteCount { try sealChunk(isLast: false) }
            let count = min(bytes.count - done, Chunk.contentByteCount - filled)
            content.write(bytes.extracting(done..<(done + count)), at: filled)
            filled += count
            done += count
        }
    }

    /// Seals what is left as the last chunk, and gives the file its name.
    ///
    /// - Returns: The last 16 bytes of that chunk.
    /// - Throws: As ``append(_:)``; `destinationExists`, `unsuitablePath`.
    consuming func finish() throws(BackupError) -> [UInt8] {
        try sealChunk(isLast: true)
        let ending = Array(sealed.suffix(SealedStream.tagByteCount))
        do throws(SystemError) {
            try file.commit()
        } catch {
            throw BackupError(error, during: .write)
        }
        return ending
    }

    private mutating func sealChunk(isLast: Bool) throws(BackupError) {
        let header = header
        content.withBytes { content in
            sealer.seal(content, associatedData: header.span, isLast: isLast, into: &sealed)
        }
        // Zeros for what will not be filled; the plaintext that was here is wiped.
        content = SecretBytes(byteCount: Chunk.contentByteCount)
        filled = 0
        try write(sealed)
    }

    private mutating func write(_ bytes: [UInt8]) throws(BackupError) {
        do throws(SystemError) {
            try file.append(bytes.span)
        } catch {
            throw BackupError(error, during: .write)
        }
    }
}

/// The sizes of a chunk.
enum Chunk {
    /// Of its content: 64 KiB.
    static let contentByteCount = 64 << 10
    /// In the file.
    static let byteCount = contentByteCount + SealedStream.overhead
}
