// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

/// A backup file with a valid header, before its passphrase is known.
package struct LockedBackup: Sendable {
    private let file: UserFile
    private let header: BackupHeader

    /// Where the backup says it comes from; authenticated only by unlocking it.
    package var origin: BackupOrigin { header.origin }

    /// Opens the file at `path` and reads its header. The path "-" stands for standard input, which
    /// may be a pipe.
    ///
    /// The file stays open: replacing it under that name later changes nothing. `path` must not
    /// name a keychain's own database: closing that would drop the locks of this process.
    ///
    /// - Throws: ``KeychainFailure``: `damaged`, also for a file that is no backup or ends too
    ///   early; `newerFormat`, `inputOutput`, `invalidRequest`.
    package init(_ path: String) throws(KeychainFailure) {
        try self.init(path, costs: .format)
    }

    init(_ path: String, costs: CostBounds) throws(KeychainFailure) {
        var bytes = [UInt8](repeating: 0, count: BackupHeader.byteCount)
        do {
            file =
                path != "-"
                ? try UserFile(path)
                : try UserFile(copyOf: 0, called: "standard input") { start in
                    let start = Array(start.prefix(BackupHeader.byteCount))
                    return (try? BackupHeader(parsing: start, path: path, costs: costs)) != nil
                }
            let count = try file.read(at: 0, into: &bytes)
            bytes.removeSubrange(count...)
        } catch {
            throw KeychainFailure(ofFile: error, during: .open)
        }
        header = try BackupHeader(parsing: bytes, path: file.path, costs: costs)
    }

    /// Opens the backup, with the memory and time that its header asks for, within bounds.
    ///
    /// - Throws: ``KeychainFailure``: `authenticationFailed`, `invalidRequest` for an empty
    ///   passphrase, `damaged`, `outOfMemory`.
    package func unlock(
        with passphrase: borrowing SecretBytes
    ) throws(KeychainFailure) -> BackupReader {
        guard passphrase.byteCount > 0 else {
            throw KeychainFailure(.emptyPassphrase, during: .open, path: file.path)
        }
        do {
            let preamble = header.preamble
            let stretched = try PassphraseKDF.stretch(
                passphrase, salt: preamble.salt, cost: preamble.cost)
            let key = try KeyWrap.unwrap(
                header.wrappedKey, as: Purpose.Backup.self, under: preamble.kek(from: stretched),
                binding: preamble.binding)
            return BackupReader(file, header: header, key: key)
        } catch {
            throw KeychainFailure(error, during: .open, path: file.path, at: .header)
        }
    }
}

/// An open backup, which can be read repeatedly from its start.
package final class BackupReader: Sendable {
    /// Where the backup comes from.
    package let origin: BackupOrigin
    private let file: UserFile
    private let header: BackupHeader
    private let key: BackupKey

    init(_ file: UserFile, header: BackupHeader, key: consuming BackupKey) {
        origin = header.origin
        self.file = file
        self.header = header
        self.key = key
    }

    /// A reading that begins at the first item.
    package func items() -> BackupItems {
        BackupItems(ChunkReader(file, header: header, key: key))
    }

    /// Reads the whole file and returns its summary. A restore does this first, and compares it
    /// with the summary of the reading that follows: docs/FORMAT.md §11.4.
    ///
    /// - Throws: ``KeychainFailure``: `damaged`, `inputOutput`, with the place.
    package func verify() throws(KeychainFailure) -> BackupSummary {
        var items = items()
        while try items.next() != nil {}
        return try items.end()
    }
}

/// One reading of a backup, item by item, with one chunk and one item in memory.
///
/// Every returned item is authenticated with its place in the file. Only ``end()`` checks that the
/// file is complete.
package struct BackupItems: ~Copyable {
    private var chunks: ChunkReader
    private var itemCount: UInt64 = 0
    private var outcome: Result<BackupSummary, KeychainFailure>?

    init(_ chunks: consuming ChunkReader) {
        self.chunks = chunks
    }

    /// The next item; nil after the last one, once the whole file has been authenticated.
    ///
    /// - Throws: ``KeychainFailure``: `damaged`, `inputOutput`. After a failure, every call throws
    ///   it again.
    package mutating func next() throws(KeychainFailure) -> BackupItem? {
        switch outcome {
        case .success: return nil
        case .failure(let error): throw error
        case nil: break
        }
        do {
            return try readRecord()
        } catch {
            outcome = .failure(error)
            throw error
        }
    }

    /// Reads the rest and returns the summary of the whole file.
    ///
    /// - Throws: As ``next()``.
    package mutating func end() throws(KeychainFailure) -> BackupSummary {
        while try next() != nil {}
        guard let outcome else { throw chunks.damaged }
        return try outcome.get()
    }

    private mutating func readRecord() throws(KeychainFailure) -> BackupItem? {
        var start = try fields(byteCount: 5)
        let kind = RecordKind(rawValue: try start.integer())
        let byteCount: UInt32 = try start.integer()
        switch kind {
        case .item:
            let item = try readItem(byteCount: Int(byteCount))
            itemCount += 1
            return item
        case .trailer:
            guard byteCount == 8 else { throw chunks.damaged }
            var body = try fields(byteCount: 8)
            guard try body.integer(UInt64.self) == itemCount else { throw chunks.damaged }
            outcome = .success(BackupSummary(itemCount: itemCount, ending: try chunks.finish()))
            return nil
        case nil: throw chunks.damaged
        }
    }

    private mutating func readItem(byteCount: Int) throws(KeychainFailure) -> BackupItem {
        guard byteCount >= BackupItem.fixedByteCount else { throw chunks.damaged }
        var fixed = try fields(byteCount: BackupItem.fixedByteCount)
        var left = byteCount - BackupItem.fixedByteCount
        guard let itemClass = ItemClass(rawValue: try fixed.integer()),
            let protection = ProtectionClass(rawValue: try fixed.integer())
        else { throw fixed.malformed }
        let flags = RecordFlags(rawValue: try fixed.integer())
        let logicalTime: Int64 = try fixed.integer()
        let listByteCount = Int(try fixed.integer(UInt32.self))
        guard flags.isSubset(of: .all), listByteCount <= left,
            listByteCount <= BackupItem.maximalByteCount
        else { throw fixed.malformed }
        let bytes = try chunks.bytes(listByteCount)
        guard let list = BackupAttributes(encoded: bytes) else { throw chunks.damaged }
        left -= listByteCount
        let value = try flags.contains(.hasValue) ? readValue(byteCount: left) : nil
        guard value != nil || left == 0 else { throw chunks.damaged }
        let properties = NewItem(
            itemClass, attributes: list.attributes, accessGroup: list.accessGroup,
            isSynchronizable: flags.contains(.synchronizable), protectionClass: protection)
        do {
            return try BackupItem(
                properties, logicalTime: logicalTime, value: value, former: flags.formerReason)
        } catch {
            throw chunks.damaged
        }
    }

    /// Reads LP(value), which takes up `byteCount` bytes.
    private mutating func readValue(byteCount: Int) throws(KeychainFailure) -> SecretValue {
        guard byteCount >= 4 else { throw chunks.damaged }
        var prefix = try fields(byteCount: 4)
        let valueByteCount = byteCount - 4
        guard try prefix.integer(UInt32.self) == valueByteCount,
            valueByteCount <= BackupItem.maximalByteCount
        else { throw chunks.damaged }
        return SecretValue(try chunks.secret(valueByteCount))
    }

    /// A reader of the next `byteCount` bytes.
    private mutating func fields(byteCount: Int) throws(KeychainFailure) -> ByteReader<
        KeychainFailure
    > {
        let bytes = try chunks.bytes(byteCount)
        return ByteReader(bytes, malformed: chunks.damaged)
    }
}

/// Opens the chunks one after another and returns their content: docs/FORMAT.md §11.2.
struct ChunkReader: ~Copyable {
    private let file: UserFile
    private let header: [UInt8]
    private var opener: StreamOpener
    private var content = SecretBytes(byteCount: Chunk.contentByteCount)
    /// How much of the chunk has been returned; all of it before the first chunk.
    private var used = Chunk.contentByteCount
    private var sealed = [UInt8](repeating: 0, count: Chunk.byteCount)
    private var chunkCount = 0
    private var isLast = false

    /// Starts before the first chunk.
    init(_ file: UserFile, header: BackupHeader, key: borrowing BackupKey) {
        self.file = file
        self.header = header.bytes
        opener = StreamOpener(under: key, header: header.stream)
    }

    /// The next `count` bytes, in memory that is not wiped.
    ///
    /// - Throws: ``KeychainFailure``: `damaged`, `inputOutput`.
    mutating func bytes(_ count: Int) throws(KeychainFailure) -> [UInt8] {
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
    mutating func secret(_ count: Int) throws(KeychainFailure) -> SecretBytes {
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
    /// - Throws: ``KeychainFailure``: `damaged`, `inputOutput`.
    mutating func finish() throws(KeychainFailure) -> [UInt8] {
        let isZero = content.withBytes { content in
            (used..<content.count).allSatisfy { content[$0] == 0 }
        }
        guard isLast, isZero else { throw damaged }
        let ending = Array(sealed.suffix(SealedStream.tagByteCount))
        guard try readChunk() == 0 else {
            throw KeychainFailure(.damaged, during: .read, path: file.path, at: .end)
        }
        return ending
    }

    /// The error for a malformed record.
    var damaged: KeychainFailure {
        KeychainFailure(
            .damaged, during: .read, path: file.path, at: .chunk(max(0, chunkCount - 1)))
    }

    private mutating func forEachPiece(
        of count: Int, _ body: (Span<UInt8>) -> Void
    ) throws(KeychainFailure) {
        var left = count
        while left > 0 {
            if used == Chunk.contentByteCount { try openChunk() }
            let end = min(Chunk.contentByteCount, used + left)
            content.withBytes { content in body(content.extracting(used..<end)) }
            left -= end - used
            used = end
        }
    }

    private mutating func openChunk() throws(KeychainFailure) {
        guard !isLast else { throw damaged }
        let place = BackupPlace.chunk(chunkCount)
        guard try readChunk() == Chunk.byteCount else {
            throw KeychainFailure(.truncated, during: .read, path: file.path, at: place)
        }
        let (sealed, header) = (sealed, header)
        do {
            isLast = try opener.open(sealed.span, associatedData: header.span, into: &content)
        } catch {
            throw KeychainFailure(error, during: .read, path: file.path, at: place)
        }
        chunkCount += 1
        used = 0
    }

    private mutating func readChunk() throws(KeychainFailure) -> Int {
        let offset = BackupHeader.byteCount + chunkCount * Chunk.byteCount
        do {
            return try file.read(at: offset, into: &sealed)
        } catch {
            throw KeychainFailure(ofFile: error, during: .read)
        }
    }
}
