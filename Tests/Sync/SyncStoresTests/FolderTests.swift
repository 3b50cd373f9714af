// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetSync
import ValetSyncStores
import ValetSystem
import ValetSystemSupport
import ValetTestValues

/// What tools that copy folders, other programs, and attackers do to a folder.
@Suite struct `A store in a folder` {
    private let folder: TestFolder
    private let store: FolderStore
    private let circle = CircleID.random()
    private let device = DeviceID.random()

    init() throws {
        folder = try TestFolder()
        store = FolderStore(at: folder.path)
        try store.create(circle, by: .soon)
    }

    private var log: LogPlace {
        LogPlace(circle, device, .whileUnlocked, LogID(high: device.high, low: 1))
    }

    /// The path of the log's folder below that of the test.
    private var place: String {
        "valet-1/" + StoreNames.folders(of: .log(log)).joined(separator: "/")
    }

    private func append(_ number: UInt64) throws(KeychainFailure) {
        _ = try store.append(
            message(number), at: .test(number), to: .log(log), after: nil, by: .soon)
    }

    /// The path of the file of a message.
    private func path(_ number: UInt64, _ bytes: [UInt8]) -> String {
        let name = StoredName(number: number, part: nil, hash: StoreNames.hash(of: bytes))
        return "\(place)/\(StoreNames.text(name))"
    }

    private func listing() throws -> StoreListing {
        try store.list(.log(log), by: .soon)
    }

    private func contents() throws -> [StoredBytes] {
        try store.read(listing().names, in: .log(log), by: .soon)
    }

    private func set(_ age: TimeInterval, of name: String) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -age)],
            ofItemAtPath: folder.path(name))
    }

    @Test func `lists exact names, ignores temporary ones and counts all others`() throws {
        try append(2)
        let name = path(2, message(2))
        let others = ["2", String(name.dropFirst(place.utf8.count + 1)).uppercased(), "notes.txt"]
        for file in others { try folder.write([1], to: "\(place)/\(file)") }
        for path in [path(0, [1]), "\(place)/0000000000000003"] { try folder.write([1], to: path) }
        try folder.write([1], to: "\(place)/.valet-12.tmp")
        let listing = try listing()
        #expect(listing.names.map(\.number) == [2])
        #expect(listing.foreignCount == 5)
        #expect(listing.foreignNames.count == 3)
        // Messages arrive in any order.
        try folder.write(message(1), to: path(1, message(1)))
        #expect(try contents() == [.bytes(message(1)), .bytes(message(2))])
    }

    @Test(
        arguments: [
            ".DS_Store", "._x", "desktop.ini", "Desktop.ini", "Thumbs.db", ".directory", "Icon\r",
            ".stfolder", ".syncthing.x.tmp", "~syncthing~x.tmp", ".dropbox", "._sync_a1.db",
            ".nfs0000001", ".fuse_hidden01", "@eaDir", "x.part", "x.!sync", "notes.bak", "~$x",
            "NAME.sync-conflict-20261123-101112-ABCDEFG", "NAME (Laptop's conflicted copy 2026)",
            "NAME_conflict-20261123-101112", "NAME~", "NAME (1)", "NAME - Copy", "NAME-Laptop",
        ])
    func `does not report files of desktops and of programs that copy folders`(
        _ file: String
    ) throws {
        try append(1)
        let name = path(1, message(1)).dropFirst(place.utf8.count + 1)
        let copy = file.replacingOccurrences(of: "NAME", with: name)
        try folder.write([1], to: "\(place)/\(copy)")
        let listing = try listing()
        #expect(listing.foreignCount == 0 && listing.names.map(\.number) == [1])
    }

    // Promise: 19.2
    @Test func `lists the logs of the devices that are asked for, however many others there are`()
        throws
    {
        try append(1)
        let circleFolder = "valet-1/" + StoreNames.text(circle)
        for _ in 0..<200 {
            let device = "\(circleFolder)/\(StoreNames.text(DeviceID.random()))"
            folder.makeFolder(device)
            folder.makeFolder(device + "/u")
        }
        let all = try store.logs(of: [device, .random()], in: circle, by: .soon)
        #expect(all == [log])
    }

    @Test func `shows some of the logs of a device that has too many`() throws {
        try append(1)
        let scope = place.split(separator: "/").dropLast().joined(separator: "/")
        for number in 0..<StoreLimits.logCount + 10 {
            let log = LogID(high: device.high, low: UInt64(number))
            folder.makeFolder("\(scope)/\(StoreNames.text(log))")
        }
        let all = try store.logs(of: [device], in: circle, by: .soon)
        #expect(all.count == StoreLimits.logCount)
    }

    // Promise: 19.2
    @Test func `removes leftovers where others have made very many mailboxes`() throws {
        folder.makeFolder("valet-1/join")
        for _ in 0..<StoreLimits.logCount + 10 {
            folder.makeFolder("valet-1/join/\(StoreNames.text(MailboxID.random()))")
        }
        try store.removeLeftovers(by: .soon)
        #expect(try folder.names().count < StoreLimits.logCount)
    }

    // Promise: 19.4
    @Test(arguments: [Int.min, -1, 0, Int.max])
    func `does not mind a file of any time`(_ seconds: Int) throws {
        try append(1)
        let name = "\(place)/.valet-1.tmp"
        try folder.write([1], to: name)
        var times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
        unsafe _ = utimensat(AT_FDCWD, folder.path(name), &times, 0)
        try store.removeLeftovers(by: .soon)
        #expect(try contents() == [.bytes(message(1))])
    }

    @Test func `calls a half file partial until the rest arrives`() throws {
        try append(1)
        let whole = [UInt8](repeating: 7, count: 5000)
        try folder.write(Array(whole.prefix(2500)), to: path(2, whole))
        #expect(try contents() == [.bytes(message(1)), .partial])
        try folder.write([], to: path(2, whole))
        #expect(try contents() == [.bytes(message(1)), .partial])
        try folder.write(whole, to: path(2, whole))
        #expect(try contents() == [.bytes(message(1)), .bytes(whole)])
    }

    @Test func `reads no links, pipes, folders or files that are too large`() throws {
        try append(1)
        let outside = try TestFolder()
        try outside.write([5], to: "file")
        folder.link(path(2, [5]), to: outside.path("file"))
        folder.makePipe(path(3, [3]))
        folder.makeFolder(path(4, [4]))
        let large = folder.path(path(5, [5]))
        try Data().write(to: URL(fileURLWithPath: large))
        let size = off_t(MessageFormat.maximalByteCount + 1)
        #expect(unsafe truncate(large, size) == 0)
        #expect(try contents() == [.bytes(message(1)), .foreign, .foreign, .foreign, .foreign])
    }

    @Test func `replaces a damaged file and a link that have the name of ours`() throws {
        try append(1)
        try folder.write([9, 9], to: path(1, message(1)))
        let outside = try TestFolder()
        try outside.write([5], to: "file")
        folder.link(path(2, message(2)), to: outside.path("file"))
        for number in 1...2 as ClosedRange<UInt64> { try append(number) }
        #expect(try contents() == [.bytes(message(1)), .bytes(message(2))])
        #expect(try outside.read("file") == [5])
    }

    @Test(arguments: 0..<4)
    func `never follows a link to a folder elsewhere`(_ depth: Int) throws {
        let outside = try TestFolder()
        let folders = StoreNames.folders(of: .log(log))
        let links = "valet-1/" + folders[...depth].joined(separator: "/")
        if depth == 0 {
            // A circle elsewhere, with its mark.
            try FileManager.default.removeItem(atPath: folder.path(links))
            try outside.write(StoreNames.markBytes(of: circle), to: "circle")
        } else {
            try FileManager.default.createDirectory(
                atPath: folder.path("valet-1/" + folders[..<depth].joined(separator: "/")),
                withIntermediateDirectories: true)
        }
        folder.link(links, to: outside.path)
        let before = try outside.names()
        let error = #expect(throws: KeychainFailure.self) { try append(1) }
        #expect(error?.code == .storeUnavailable)
        #expect(try outside.names() == before)
        for log in (try? store.logs(of: [device], in: circle, by: .soon)) ?? [] {
            #expect(try store.list(.log(log), by: .soon) == StoreListing())
        }
        try? store.deleteLogs(of: device, in: circle, by: .soon)
        #expect(try outside.names() == before)
    }

    @Test func `lists deleted files that come back, and deletes them again`() throws {
        try append(1)
        try append(2)
        let names = try listing().names
        for _ in 0..<2 {
            try store.delete([names[0]], in: log, by: .soon)
            #expect(try listing().names == [names[1]])
            try folder.write(message(1), to: path(1, message(1)))
            #expect(try listing().names == names)
        }
    }

    @Test func `makes nothing once its folder or its mark is gone`() throws {
        try append(1)
        try FileManager.default.removeItem(
            atPath: folder.path("valet-1/\(StoreNames.text(circle))/circle"))
        let error = #expect(throws: KeychainFailure.self) { try append(2) }
        #expect(error?.code == .storeUnavailable)
        #expect(try folder.read(path(1, message(1))) == message(1))
        let gone = FolderStore(at: folder.path("gone"))
        #expect(throws: KeychainFailure.self) { try gone.create(circle, by: .soon) }
        #expect(throws: KeychainFailure.self) {
            try gone.post(StoredMail(.offer, [1]), to: .random(), by: .soon)
        }
        #expect(try folder.names() == ["valet-1"])
        let relative = FolderStore(at: "relative")
        let refusal = #expect(throws: KeychainFailure.self) {
            try relative.check(circle, by: .soon)
        }
        #expect(refusal?.code == .badStoreAddress)
    }

    @Test(arguments: [(0o700, 0o700, 0o600), (0o770, 0o770, 0o660), (0o755, 0o750, 0o640)])
    func `closes its files to others, and gives the group its rights to the folder`(
        _ modes: (folder: mode_t, inner: mode_t, file: mode_t)
    ) throws {
        let shared = try TestFolder()
        shared.setMode(modes.folder, of: ".")
        let store = FolderStore(at: shared.path)
        try store.create(circle, by: .soon)
        _ = try store.append(message(1), at: .test(1), to: .log(log), after: nil, by: .soon)
        #expect(shared.mode("valet-1") == modes.inner)
        #expect(shared.mode(place) == modes.inner)
        #expect(shared.mode(path(1, message(1))) == modes.file)
        #expect(shared.mode("valet-1/\(StoreNames.text(circle))/circle") == modes.file)
    }

    @Test func `removes leftovers of yesterday, and nothing of today`() throws {
        try append(1)
        let mailbox = MailboxID.random()
        for byte in [1, 2] as [UInt8] {
            try store.post(StoredMail(.offer, [byte]), to: mailbox, by: .soon)
        }
        let mailPlace = "valet-1/join/\(StoreNames.text(mailbox))"
        let old =
            "\(mailPlace)/"
            + StoreNames.text(StoreNames.name(of: StoredMail(.offer, [1])))
        for name in [".valet-1.tmp", ".valet-2.tmp"] {
            try folder.write([1], to: "\(place)/\(name)")
        }
        let day: TimeInterval = 24 * 60 * 60
        for name in ["\(place)/.valet-1.tmp", old, path(1, message(1))] {
            try set(day + 60, of: name)
        }
        try set(-day, of: "\(place)/.valet-2.tmp")
        try store.removeLeftovers(by: .soon)
        #expect(try store.mails(in: mailbox, by: .soon) == [StoredMail(.offer, [2])])
        let rest = try FileManager.default.contentsOfDirectory(atPath: folder.path(place))
        #expect(rest.contains(".valet-2.tmp") && !rest.contains(".valet-1.tmp"))
        #expect(try contents() == [.bytes(message(1))])
    }

    @Test func `does not list a log with more names than the limit`() throws {
        let store = FolderStore(at: folder.path, nameCount: 10)
        for number in 1...10 as ClosedRange<UInt64> { try append(number) }
        #expect(try store.list(.log(log), by: .soon).names.count == 10)
        try folder.write([1], to: "\(place)/x")
        let listing = try store.list(.log(log), by: .soon)
        #expect(listing.isTooLong && listing.names.isEmpty)
    }

    @Test(.needsMounts) func `says that the disk is full, and leaves nothing behind`() throws {
        let disk = try TestFolder()
        let mount = try Mount.memory(at: disk.path, byteCount: 200_000)
        let store = FolderStore(at: disk.path)
        try store.create(circle, by: .soon)
        let error = #expect(throws: KeychainFailure.self) {
            try store.append(
                [UInt8](repeating: 1, count: 250_000), at: .test(1), to: .log(log), after: nil,
                by: .soon)
        }
        #expect(error?.code == .storeFull)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: disk.path(place)).isEmpty)
        mount.end()
        let unmounted = #expect(throws: KeychainFailure.self) { try store.check(circle, by: .soon) }
        #expect(unmounted?.code == .storeUnavailable)
        #expect(try disk.names().isEmpty)
    }

    @Test(.needsMounts) func `is denied where it may only read`() throws {
        try append(1)
        let place = try TestFolder()
        let mount = try Mount.readOnly(folder.path, at: place.path)
        let store = FolderStore(at: place.path)
        #expect(try store.list(.log(log), by: .soon).names.count == 1)
        let error = #expect(throws: KeychainFailure.self) {
            try store.append([1], at: .test(2), to: .log(log), after: nil, by: .soon)
        }
        #expect(error?.code == .storeDenied)
        mount.end()
    }

    @Test func `wakes for files that other programs move in, and not for temporary ones`() throws {
        try append(1)
        let wait = { (limit: Duration) throws in
            try store.waitForChange(in: circle, within: WaitLimit(until: Deadline(after: limit)))
        }
        #expect(try wait(.seconds(20)))
        try folder.write([1], to: "\(place)/.syncthing.x.tmp")
        #expect(try !wait(.milliseconds(100)))
        folder.rename("\(place)/.syncthing.x.tmp", to: path(2, [1]))
        #expect(try wait(.seconds(20)))
        #expect(try contents() == [.bytes(message(1)), .bytes([1])])
        try FileManager.default.removeItem(atPath: folder.path("valet-1"))
        let error = #expect(throws: KeychainFailure.self) {
            while try wait(.seconds(20)) {}
        }
        #expect(error?.code == .storeUnavailable)
    }
}
