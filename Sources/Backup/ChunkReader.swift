// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

/// Opens chunk after chunk and gives out their content: docs/FORMAT.md §11.2.
struct ChunkReader: ~Copyable {
    private let file: ChosenFile
    private let header: [UInt8]
    private var opener: StreamOpener
    private var content = SecretBytes(byteCount: Chunk.contentByteCount)
    /// How much of the chunk has been given out; all of it, before the first chunk.
    private var used = Chunk.contentByteCount
    private var sealed = [UInt8](repeating: 0, count: Chunk.byteCount)
    private var chunkCount = 0
    private var isLast = false

    /// Starts in front of the first chunk.
    init(_ file: ChosenFile, header: BackupHeader, key: borrowing BackupKey) {
        self.file = file
        self.header = header.bytes
        opener = StreamOpener(under: key, header: header.stream)
    }

    /// The next `count` bytes, in memory that is not wiped.
    ///
    /// - Throws: ``BackupError``: `truncated`, `damaged`, `io`.
    mutating func bytes(_ count: Int) throws(BackupError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        try forEachPiece(of: count) { piece in
            for index in piece.indices { bytes.append(piece[index]) }
        }
        return bytes
    }

    /// The next `count` bytes, which are secret.
    ///
    /// - Throws: As ``bytes(_:)``.
    mutating func secret(_ count: Int) throws(BackupError) -> SecretBytes {
        var secret = SecretBytes(byteCount: count)
        var filled = 0
        try forEachPiece(of: count) { piece in
            secret.write(piece, at: filled)
            filled += piece.count
        }
        return secret
    }

    /// Checks that nothing but zeros follows in this chunk, and that it is the last.
    ///
    /// - Returns: The last 16 bytes of that chunk.
    /// - Throws: ``BackupError``: `damaged`, `io`.
    mutating func finish() throws(BackupError) -> [UInt8] {
        let isZero = content.withBytes { content in
            (used..<content.count).allSatisfy { content[$0] == 0 }
        }
        guard isLast, isZero else { throw damaged }
        let ending = Array(sealed.suffix(SealedStream.tagByteCount))
        guard try readChunk() == 0 else {
            throw BackupError(.damaged, during: .read, path: file.path, place: .end)
        }
        return ending
    }

    /// What a record that is not as it must be throws.
    var damaged: BackupError {
        BackupError(
            .damaged, during: .read, path: file.path, place: .chunk(max(0, chunkCount - 1)))
    }

    private mutating func forEachPiece(
        of count: Int, _ body: (Span<UInt8>) -> Void
    ) throws(BackupError) {
        var left = count
        while left > 0 {
            if used == Chunk.contentByteCount { try openChunk() }
            let end = min(Chunk.contentByteCount, used + left)
            content.withBytes { content in body(content.extracting(used..<end)) }
            left -= end - used
            used = end
        }
    }

    private mutating func openChunk() throws(BackupError) {
        guard !isLast else { throw damaged }
        let place = BackupError.Place.chunk(chunkCount)
        guard try readChunk() == Chunk.byteCount else {
            throw BackupError(.truncated, during: .read, path: file.path, place: place)
        }
        let (sealed, header) = (sealed, header)
        do throws(SealingError) {
            isLast = try opener.open(sealed.span, associatedData: header.span, into: &content)
        } catch {
            throw BackupError(error, during: .read, path: file.path, place: place)
        }
        chunkCount += 1
        used = 0
    }

    private mutating func readChunk() throws(BackupError) -> Int {
        let offset = BackupHeader.byteCount + chunkCount * Chunk.byteCount
        do throws(SystemError) {
            return try file.read(at: offset, into: &sealed)
        } catch {
            throw BackupError(error, during: .read)
        }
    }
}
