// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

/// A backup that is being written. Dropping it before ``finish()`` leaves no file.
///
/// It keeps one chunk of 64 KiB in memory, for any number of items.
/// Format: docs/FORMAT.md §11.
package struct BackupWriter: ~Copyable {
    private var chunks: ChunkWriter
    private var itemCount: UInt64 = 0

    /// Starts a backup, which appears at `path` once it is finished. If `path` is "-", the finished
    /// backup goes to standard output.
    ///
    /// Takes the memory and time of `cost`. `path` must not name a file of a keychain: the caller
    /// checks that, because this module does not know those files.
    ///
    /// - Parameters:
    ///   - replacing: Whether to replace an existing file.
    ///   - passphrase: Taken byte for byte: normalise it before.
    ///   - cost: The cost of one guess; readers accept costs within the format's bounds.
    /// - Throws: ``KeychainFailure``: `invalidRequest` for an empty passphrase, for a path that
    ///   cannot be written to, and for an existing file unless `replacing`; `diskFull`, `readOnly`,
    ///   `inputOutput`, `outOfMemory`.
    package init(
        to path: String, replacing: Bool = false, origin: BackupOrigin,
        passphrase: borrowing SecretBytes, cost: Argon2Cost
    ) throws(KeychainFailure) {
        guard passphrase.byteCount > 0 else {
            throw KeychainFailure(.emptyPassphrase, during: .write, path: path)
        }
        let file: AtomicFile
        do {
            file =
                path == "-"
                ? try AtomicFile(sendingTo: 1) : try AtomicFile(at: path, replacing: replacing)
        } catch {
            throw KeychainFailure(ofFile: error, during: .write)
        }
        let preamble = BackupHeader.Preamble(origin: origin, salt: .random(), cost: cost)
        let key = BackupKey.random()
        let sealer = StreamSealer(under: key)
        let header: BackupHeader
        do {
            let stretched = try PassphraseKDF.stretch(
                passphrase, salt: preamble.salt, cost: preamble.cost)
            header = BackupHeader(
                preamble, key: key, kek: preamble.kek(from: stretched), stream: sealer.header)
        } catch {
            throw KeychainFailure(error, during: .write, path: path)
        }
        chunks = try ChunkWriter(into: file, sealer: sealer, header: header)
    }

    /// Checks that a backup could be written to `path`, and leaves no file there.
    ///
    /// - Throws: ``KeychainFailure``: as ``init(to:replacing:origin:passphrase:cost:)``.
    package static func check(path: String, replacing: Bool) throws(KeychainFailure) {
        do {
            if path != "-" { _ = try AtomicFile(at: path, replacing: replacing) }
        } catch {
            throw KeychainFailure(ofFile: error, during: .write)
        }
    }

    /// Appends an item.
    ///
    /// - Throws: ``KeychainFailure``: `diskFull`; `inputOutput`, also at the limit for files. After
    ///   that nothing can be appended, and the backup cannot be finished.
    package mutating func append(_ item: BackupItem) throws(KeychainFailure) {
        try chunks.append(item.recordStart.span)
        if let value = item.value {
            try value.withBytes { (bytes: Span<UInt8>) throws(KeychainFailure) in
                try chunks.append(bytes)
            }
        }
        itemCount += 1
    }

    /// Writes the end, brings the file to disk and gives it its name.
    ///
    /// - Returns: The summary that a reader of the whole file will get.
    /// - Throws: ``KeychainFailure``, and then there is no file: the error of ``append(_:)``,
    ///   `invalidRequest`, `diskFull`, `inputOutput`.
    package consuming func finish() throws(KeychainFailure) -> BackupSummary {
        var trailer = [RecordKind.trailer.rawValue]
        trailer.append(bigEndian: UInt32(8))
        trailer.append(bigEndian: itemCount)
        try chunks.append(trailer.span)
        let itemCount = itemCount
        let (ending, warning) = try chunks.finish()
        return BackupSummary(itemCount: itemCount, ending: ending, warning: warning)
    }
}

/// The number of items in a backup and the end of its stream.
///
/// Two readings with equal summaries have read the same bytes: docs/FORMAT.md §11.4.
package struct BackupSummary: Hashable, Sendable {
    package let itemCount: UInt64
    /// The last 16 bytes of the last chunk, which depend on the header and on all chunks.
    package let ending: [UInt8]
    /// Why a power cut may take the name of the finished file away; nil after a reading.
    package private(set) var warning: KeychainFailure?
}

/// Cuts content into chunks, seals them and writes them: docs/FORMAT.md §11.2.
struct ChunkWriter: ~Copyable {
    private var file: AtomicFile
    private var sealer: StreamSealer
    private let header: [UInt8]
    private var content = SecretBytes(byteCount: Chunk.contentByteCount)
    private var filled = 0
    private var sealed = [UInt8](repeating: 0, count: Chunk.byteCount)

    /// Writes the header, which contains the stream header of `sealer`.
    init(
        into file: consuming AtomicFile, sealer: consuming StreamSealer, header: BackupHeader
    ) throws(KeychainFailure) {
        self.file = file
        self.sealer = sealer
        self.header = header.bytes
        try write(header.bytes)
    }

    /// Appends content.
    ///
    /// - Throws: ``KeychainFailure``: `diskFull`, `inputOutput`. Once it has thrown, every later
    ///   call throws too.
    mutating func append(_ bytes: Span<UInt8>) throws(KeychainFailure) {
        var done = 0
        while done < bytes.count {
            // A full chunk waits for more content, because it may be the last one.
            if filled == Chunk.contentByteCount { try sealChunk(isLast: false) }
            let count = min(bytes.count - done, Chunk.contentByteCount - filled)
            content.write(bytes.extracting(done..<(done + count)), at: filled)
            filled += count
            done += count
        }
    }

    /// Seals the rest as the last chunk, and gives the file its name.
    ///
    /// - Returns: The last 16 bytes of that chunk, and ``BackupSummary/warning``.
    /// - Throws: As ``append(_:)``; `invalidRequest`.
    consuming func finish() throws(KeychainFailure) -> (ending: [UInt8], KeychainFailure?) {
        try sealChunk(isLast: true)
        let ending = Array(sealed.suffix(SealedStream.tagByteCount))
        do {
            let failure = try file.commit()
            return (ending, failure.map { KeychainFailure(ofFile: $0, during: .write) })
        } catch {
            throw KeychainFailure(ofFile: error, during: .write)
        }
    }

    private mutating func sealChunk(isLast: Bool) throws(KeychainFailure) {
        let header = header
        content.withBytes { content in
            sealer.seal(content, associatedData: header.span, isLast: isLast, into: &sealed)
        }
        // A new buffer of zeros; the old plaintext is wiped.
        content = SecretBytes(byteCount: Chunk.contentByteCount)
        filled = 0
        try write(sealed)
    }

    private mutating func write(_ bytes: [UInt8]) throws(KeychainFailure) {
        do {
            try file.append(bytes.span)
        } catch {
            throw KeychainFailure(ofFile: error, during: .write)
        }
    }
}

/// The sizes of a chunk.
enum Chunk {
    /// The size of a chunk's content: 64 KiB.
    static let contentByteCount = 64 << 10
    /// The size of a sealed chunk in the file.
    static let byteCount = contentByteCount + SealedStream.overhead
}
