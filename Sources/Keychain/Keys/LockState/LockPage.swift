// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The marks that opened keys are bound to, one for each scope. A lock changes them.
struct LockMarks: Hashable, Sendable {
    /// The mark of the scope `afterFirstUnlock`.
    var firstUnlock: LockMark
    /// The mark of the scope `whileUnlocked`.
    var unlocked: LockMark

    /// New random marks.
    static func random() -> LockMarks { LockMarks(firstUnlock: .random(), unlocked: .random()) }

    subscript(scope: KeyScope) -> LockMark {
        switch scope {
        case .afterFirstUnlock: firstUnlock
        case .whileUnlocked: unlocked
        }
    }
}

/// The first 4,096 bytes of `keychain.lock`, which hold the marks: docs/FORMAT.md §10.1.
///
/// The whole page is written once, under the writers' lock. Later only the marks change, in
/// place, so that a full disk does not prevent a lock.
struct LockPage: Sendable {
    static let fileName = "keychain.lock"
    static let byteCount = 4096
    static let headByteCount = 48
    /// Magic 8, version u16 = 1, zeros.
    static let header: [UInt8] = Array("VALETPGE".utf8) + [0, 1] + [UInt8](repeating: 0, count: 6)

    let file: OpenFile

    /// Opens the page of the keychain in `folder`, to change it.
    ///
    /// - Parameter making: Whether to make a file that does not exist.
    /// - Returns: nil if the file does not exist and is not made.
    static func changeable(in folder: String, making: Bool) throws(SystemError) -> LockPage? {
        let directory = try PrivateDirectory.open(folder, creating: false)
        return try OpenFile.open(fileName, in: directory, for: making ? .making : .changing)
            .map(LockPage.init)
    }

    /// Opens the page of the keychain in `folder`, to publish keys under its marks.
    ///
    /// - Throws: ``KeychainFailure``: `cannotShare`, also if the file does not exist: a lock could
    ///   not reach the keys.
    static func forSharing(in folder: String) throws(KeychainFailure) -> LockPage {
        do throws(SystemError) {
            guard let page = try changeable(in: folder, making: false) else {
                throw SystemError(.missing, during: "share opened keys", path: folder)
            }
            return page
        } catch {
            throw KeychainFailure(cannotShare: error)
        }
    }

    /// Makes the page of the keychain in `folder`, if it is missing. The caller holds the writers'
    /// lock.
    ///
    /// - Throws: ``SystemError``: `inputOutput`, `diskFull`, `readOnly`, … A page that cannot be
    ///   read is unchanged.
    static func prepare(in folder: String) throws(SystemError) {
        guard let page = try changeable(in: folder, making: true), try page.readMarks() == nil
        else { return }
        try page.make()
    }

    /// The marks; nil if the file has no page.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput` if the file cannot be read.
    func marks() throws(KeychainFailure) -> LockMarks? {
        do {
            return try readMarks()
        } catch {
            throw KeychainFailure(error, during: LockStateOperation.readPage.rawValue)
        }
    }

    private func readMarks() throws(SystemError) -> LockMarks? {
        var bytes = InlineArray<48, UInt8>(repeating: 0)
        var span = bytes.mutableSpan
        let count: Int
        do {
            count = try file.read(into: &span)
        } catch {
            // Another part of the program closed the descriptor: the caller opens the file again.
            guard error.code != .misuse else { return nil }
            throw error
        }
        guard count == Self.headByteCount else { return nil }
        return Self.marks(in: bytes.span)
    }

    /// The marks in the first 48 bytes of a page; nil for other bytes.
    static func marks(in bytes: Span<UInt8>) -> LockMarks? {
        guard bytes.starts(with: header), let firstUnlock = mark(in: bytes.extracting(16..<32)),
            let unlocked = mark(in: bytes.extracting(32..<48))
        else { return nil }
        return LockMarks(firstUnlock: firstUnlock, unlocked: unlocked)
    }

    private static func mark(in bytes: Span<UInt8>) -> LockMark? {
        guard bytes.indices.contains(where: { bytes[$0] != 0 }) else { return nil }
        return try? LockMark(copying: bytes)
    }

    /// Writes a whole page with new marks.
    private func make() throws(SystemError) {
        var bytes = Self.head(.random())
        bytes += [UInt8](repeating: 0, count: Self.byteCount - bytes.count)
        try file.write(bytes.span)
    }

    /// The first 48 bytes of a page with these marks.
    static func head(_ marks: LockMarks) -> [UInt8] {
        header + marks.firstUnlock.bytes + marks.unlocked.bytes
    }

    /// Changes the mark of the scope `whileUnlocked`, or with `all` both marks. Once this returns,
    /// keys that were bound to a replaced mark open nothing.
    ///
    /// - Parameter isNew: Whether the file has no page.
    func change(all: Bool, isNew: Bool) throws(SystemError) {
        let new = LockMarks.random()
        if isNew {
            try file.write((Self.head(new) + [UInt8](repeating: 0, count: 16)).span)
        } else if all {
            try file.write((new.firstUnlock.bytes + new.unlocked.bytes).span, at: 16)
        } else {
            try file.write(new.unlocked.bytes.span, at: 32)
        }
    }
}

/// The page of one keychain's folder as a process reads it: an open file. At intervals, the process
/// checks that the file's path still leads to it.
final class PageWatch: Sendable {
    /// The path of the keychain's folder.
    let folder: String
    private let path: String
    /// Empty in a child of `fork`, because a thread of the parent may have held the mutex.
    private let memory = ProcessLocal<Memory> { _ in Memory() }

    init(folder: String) {
        self.folder = folder
        path = folder + "/" + LockPage.fileName
    }

    private struct Held {
        let page: LockPage
        /// When the path was last seen to lead to this file.
        var lastLook: BootTime
    }

    private final class Memory: Sendable {
        let held = Lock<Held?>(nil)
    }

    /// For how many milliseconds the path is assumed to lead to the open file.
    static let lookInterval: UInt64 = 100

    /// The marks at this moment, by one system call; nil if there is no page. Checks every 100 ms
    /// which file the path leads to.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput` if the marks cannot be read.
    func marks(at now: BootTime) throws(KeychainFailure) -> LockMarks? {
        if let page = known(at: now) {
            // A descriptor that gives no page may lead to another file by now.
            if let marks = try? page.marks() { return marks }
            memory.value.held.withLock { $0 = nil }
        }
        guard let page = try open() else { return nil }
        guard let marks = try page.marks() else { return nil }
        memory.value.held.withLock { $0 = Held(page: page, lastLook: now) }
        return marks
    }

    private func known(at now: BootTime) -> LockPage? {
        memory.value.held.withLock { held in
            guard let known = held else { return nil }
            guard now.isWithin(milliseconds: Self.lookInterval, after: known.lastLook) else {
                guard known.page.file.isInPlace(at: path) else {
                    held = nil
                    return nil
                }
                held?.lastLook = now
                return known.page
            }
            return known.page
        }
    }

    /// The marks from a newly opened file, in case other code has replaced descriptors of this
    /// process.
    func freshMarks() throws(KeychainFailure) -> LockMarks? {
        memory.value.held.withLock { $0 = nil }
        return try marks(at: .now)
    }

    private func open() throws(KeychainFailure) -> LockPage? {
        do {
            let directory = try PrivateDirectory.open(folder, creating: false)
            return try OpenFile.open(LockPage.fileName, in: directory, for: .reading)
                .map(LockPage.init)
        } catch {
            // A file or folder that other users can change counts as missing.
            guard error.isTransient else { return nil }
            throw KeychainFailure(error, during: LockStateOperation.readPage.rawValue)
        }
    }
}

extension SystemError {
    /// Whether the attempt itself failed, so that nothing is known about the file.
    var isTransient: Bool {
        switch code {
        case .inputOutput, .outOfMemory: true
        case .cannotOpen: systemError.map { ![EACCES, EPERM].contains($0) } ?? false
        default: false
        }
    }
}
