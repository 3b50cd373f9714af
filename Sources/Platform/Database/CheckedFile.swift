// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite

/// A file that SQLite has opened: the database or its log. Puts a checksum into every page that
/// SQLite writes there, and checks every page that it reads: docs/FORMAT.md §2.2.
///
/// Two of the file's methods are replaced; all others are those of SQLite's `unix` VFS. What this
/// needs to know is stored behind SQLite's own data of the file.
@safe struct CheckedFile {
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let state: UnsafeMutablePointer<State>

    /// How much room behind SQLite's own data this needs: the state, and a frame of the log.
    static var byteCount: Int32 { Int32(frameOffset + LogFormat.frameByteCount) }

    private static var frameOffset: Int { unsafe MemoryLayout<State>.stride }

    // What Swift does not import: SQLITE_IOERR_READ, SQLITE_IOERR_SHORT_READ (the file ends before
    // the bytes) and SQLITE_IOERR_CORRUPTFS.
    static let readError = SQLITE_IOERR | 1 << 8
    private static let shortRead = SQLITE_IOERR | 2 << 8
    private static let corruptFileSystem = SQLITE_IOERR | 33 << 8

    @unsafe private struct State {
        /// SQLite's file points to this table, which is therefore the first.
        var methods: sqlite3_io_methods
        let original: UnsafePointer<sqlite3_io_methods>
        let system: UnsafeMutablePointer<ConnectionSystem.System>
        let isLog: Bool
        /// Where the last frame begins whose header was written, and the number of its page.
        var lastFrame: (offset: Int64, page: UInt32) = (-1, 0)
        /// Whether the log's own checksums are known to be in the byte order of this machine.
        var hasNativeLog = false
    }

    /// Begins to check a file that was opened.
    ///
    /// - Parameter place: Behind SQLite's own data of the file.
    init?(
        _ file: UnsafeMutablePointer<sqlite3_file>, at place: UnsafeMutableRawPointer,
        isLog: Bool, _ system: UnsafeMutablePointer<ConnectionSystem.System>
    ) {
        guard let original = unsafe file.pointee.pMethods else { return nil }
        unsafe self.file = unsafe file
        unsafe state = place.bindMemory(to: State.self, capacity: 1)
        var methods = unsafe original.pointee
        // Later versions can lend mapped pages, which nothing would check.
        methods.iVersion = min(methods.iVersion, 2)
        unsafe methods.xRead = { file, bytes, byteCount, offset in
            guard let bytes = unsafe bytes else { return SQLITE_MISUSE }
            return unsafe CheckedFile(file)?.read(bytes, byteCount, offset) ?? SQLITE_MISUSE
        }
        unsafe methods.xWrite = { file, bytes, byteCount, offset in
            guard let bytes = unsafe bytes else { return SQLITE_MISUSE }
            return unsafe CheckedFile(file)?.write(bytes, byteCount, offset) ?? SQLITE_MISUSE
        }
        unsafe state.initialize(
            to: State(methods: methods, original: original, system: system, isLog: isLog))
        unsafe file.pointee.pMethods = UnsafePointer(
            UnsafeRawPointer(place).assumingMemoryBound(to: sqlite3_io_methods.self))
    }

    /// The file of a call.
    @inline(__always)
    private init?(_ file: UnsafeMutablePointer<sqlite3_file>?) {
        guard let file = unsafe file, let methods = unsafe file.pointee.pMethods else { return nil }
        unsafe self.file = unsafe file
        unsafe state = UnsafeMutableRawPointer(mutating: UnsafeRawPointer(methods))
            .assumingMemoryBound(to: State.self)
    }

    private var frame: UnsafeMutableRawPointer {
        unsafe UnsafeMutableRawPointer(state) + Self.frameOffset
    }

    // Reading.

    @inline(__always)
    private func read(
        _ bytes: UnsafeMutableRawPointer, _ byteCount: Int32, _ offset: Int64
    ) -> Int32 {
        guard byteCount == Int32(PageChecksum.pageByteCount) else {
            return unsafe readRaw(bytes, byteCount, offset)
        }
        if unsafe state.pointee.isLog {
            return LogFormat.isPage(at: offset)
                ? unsafe readFromLog(bytes, offset) : unsafe readRaw(bytes, byteCount, offset)
        }
        let code = unsafe readRaw(bytes, byteCount, offset)
        guard code == SQLITE_OK || code == Self.shortRead,
            let number = PageChecksum.number(ofPageAt: offset)
        else { return code }
        guard unsafe !PageChecksum.fits(bytes, number: number) else { return code }
        return unsafe damage(bytes, number, code)
    }

    /// The header of the frame says whose page this is.
    private func readFromLog(_ bytes: UnsafeMutableRawPointer, _ offset: Int64) -> Int32 {
        let code = unsafe readRaw(
            frame, Int32(LogFormat.frameByteCount),
            offset - Int64(LogFormat.frameHeaderByteCount))
        unsafe bytes.copyMemory(
            from: frame + LogFormat.frameHeaderByteCount, byteCount: PageChecksum.pageByteCount)
        guard code == SQLITE_OK || code == Self.shortRead else { return code }
        let number = unsafe UInt32(bigEndian: frame.loadUnaligned(as: UInt32.self))
        guard unsafe !PageChecksum.fits(bytes, number: number) else { return code }
        return unsafe damage(bytes, number, code)
    }

    /// - Returns: The answer for a page whose checksum does not fit. A repair gets the page, as it
    ///   was before a bit of it was flipped.
    @inline(never)
    private func damage(
        _ page: UnsafeMutableRawPointer, _ number: UInt32, _ code: Int32
    ) -> Int32 {
        guard unsafe state.pointee.system.pointee.acceptsDamage else { return SQLITE_CORRUPT }
        if unsafe !PageChecksum.mend(page, number: number) {
            unsafe state.pointee.system.pointee.damagedPageCount += 1
        }
        return code
    }

    @inline(__always)
    private func readRaw(
        _ bytes: UnsafeMutableRawPointer, _ byteCount: Int32, _ offset: Int64
    ) -> Int32 {
        let code =
            unsafe state.pointee.original.pointee.xRead?(file, bytes, byteCount, offset)
            ?? SQLITE_MISUSE
        // SQLite makes damage of EIO. But nothing is known of bytes that were not read; only a
        // repair leaves them out.
        guard code == Self.corruptFileSystem, unsafe !state.pointee.system.pointee.acceptsDamage
        else { return code }
        return Self.readError
    }

    // Writing.

    private func write(
        _ bytes: UnsafeRawPointer, _ byteCount: Int32, _ offset: Int64
    ) -> Int32 {
        let isLog = unsafe state.pointee.isLog
        if isLog, byteCount == Int32(LogFormat.frameHeaderByteCount) {
            let number = unsafe bytes.loadUnaligned(as: UInt32.self)
            unsafe state.pointee.lastFrame = (offset, UInt32(bigEndian: number))
        }
        guard byteCount == Int32(PageChecksum.pageByteCount),
            isLog ? LogFormat.isPage(at: offset) : PageChecksum.number(ofPageAt: offset) != nil
        else { return unsafe writeRaw(bytes, byteCount, offset) }
        let page = unsafe frame + LogFormat.frameHeaderByteCount
        unsafe page.copyMemory(from: bytes, byteCount: PageChecksum.pageByteCount)
        if isLog {
            let code = unsafe completeForLog(page, offset)
            guard code == SQLITE_OK else { return code }
        } else if let number = PageChecksum.number(ofPageAt: offset) {
            unsafe PageChecksum.put(into: page, number: number)
        }
        return unsafe writeRaw(UnsafeRawPointer(page), byteCount, offset)
    }

    /// Puts the checksum into a page for the log.
    ///
    /// SQLite writes the header of a frame before its page. Or it leaves the header as it is, when
    /// it replaces a page that the same transaction has written to the log; before the commit it
    /// then computes the checksums in the headers anew.
    ///
    /// - Returns: `SQLITE_OK`, or the error of a read.
    private func completeForLog(_ page: UnsafeMutableRawPointer, _ offset: Int64) -> Int32 {
        let start = offset - Int64(LogFormat.frameHeaderByteCount)
        if unsafe state.pointee.lastFrame.offset != start {
            var header: UInt32 = 0
            let code = unsafe readRaw(&header, 4, start)
            guard code == SQLITE_OK || code == Self.shortRead else { return code }
            unsafe state.pointee.lastFrame = (start, UInt32(bigEndian: header))
        }
        let number = unsafe state.pointee.lastFrame.page
        // Zeros that only make the log longer.
        guard number > 0 else { return SQLITE_OK }
        if unsafe !state.pointee.hasNativeLog {
            var magic: UInt32 = 0
            let code = unsafe readRaw(&magic, 4, 0)
            guard code == SQLITE_OK else { return code }
            unsafe state.pointee.hasNativeLog = LogFormat.isNative(UInt32(bigEndian: magic))
        }
        let isNative = unsafe state.pointee.hasNativeLog
        unsafe PageChecksum.putBalanced(
            into: page, number: number, isBigEndian: isNative == LogFormat.isMachineBigEndian)
        return SQLITE_OK
    }

    private func writeRaw(_ bytes: UnsafeRawPointer, _ byteCount: Int32, _ offset: Int64) -> Int32 {
        unsafe state.pointee.original.pointee.xWrite?(file, bytes, byteCount, offset)
            ?? SQLITE_MISUSE
    }
}
