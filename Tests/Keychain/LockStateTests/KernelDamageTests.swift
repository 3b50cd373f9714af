// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetCLinux
import ValetKeyTestSupport
import ValetKeychainModel
import ValetSealing
import ValetSystem

@testable import ValetKeys

extension Kernel {
    /// What another process of the user can do that sees the kernel's keyrings, but not the folders
    /// of the keychain: a sandbox. docs/FORMAT.md §10.8.
    @Suite struct `A sandbox that sees only the kernel` {
        let sample = KernelSample()
        private let first = "locked 1\(KernelSample.first)"

        /// The bytes that the kernel gives to any process of the user.
        private func bytes(_ scope: KeyScope) throws -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: 1024)
            let serial = try sample.serial(scope).rawValue
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe valet_read_key(serial, buffer.baseAddress, buffer.count)
            }
            return Array(bytes.prefix(Int(count)))
        }

        // Promise: 7.5
        @Test(arguments: KeyScope.allCases)
        func `A sandbox finds no key in what it reads`(_ scope: KeyScope) throws {
            try sample.publish()
            let payload = try KeyPayload(
                scope, of: sample.samples.keychainID, from: sample.samples.epoch(1),
                period: .unlimited)
            let (seen, body) = (try bytes(scope), payload.bytes)
            for start in stride(from: 0, through: body.count - 16, by: 8) {
                #expect(Data(seen).range(of: Data(body[start..<(start + 16)])) == nil, "\(start)")
            }
        }

        // Promise: 7.5
        @Test(arguments: KeyScope.allCases)
        func `A sandbox is not believed whichever byte it changes`(_ scope: KeyScope) throws {
            try sample.publish()
            let good = try bytes(scope)
            for offset in good.indices {
                var changed = good
                changed[offset] ^= 0x10
                try sample.plant(changed, as: scope)
                let state = scope == .whileUnlocked ? first : "before"
                let cause = 8...9 ~= offset ? "payloadNewer" : "changedByOthers"
                let answer = try sample.read(sample.fresh())
                #expect(answer == "\(state) invalid:\(cause)", "\(offset)")
            }
            #expect(sample.fresh().findings().contains { $0.contains("are not trusted") })
            try sample.plant(good, as: scope)
            #expect(try sample.read(sample.fresh()) == "unlocked 1\(KernelSample.all)")
            #expect(sample.store.findings().isEmpty)
        }

        @Test(arguments: [1, 8, 1_025])
        func `A sandbox is not believed with bytes of its own`(_ count: Int) throws {
            try sample.publish()
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
            try sample.plant([UInt8](repeating: 7, count: count), as: .whileUnlocked)
            let code = count > 1_024 ? "payloadDamaged" : "changedByOthers"
            // A process that has read the keys before uses them: the key is the same, and no lock
            // came.
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
            #expect(try sample.read(sample.fresh()) == "\(first) invalid:\(code)")
        }

        // Promise: 7.5
        @Test func `A sandbox cannot swap the two scopes`() throws {
            try sample.publish()
            let (unlocked, firstUnlock) = (try bytes(.whileUnlocked), try bytes(.afterFirstUnlock))
            try sample.plant(firstUnlock, as: .whileUnlocked)
            try sample.plant(unlocked, as: .afterFirstUnlock)
            #expect(try sample.read(sample.fresh()) == "before invalid:changedByOthers")
        }

        // Promise: 7.5
        @Test func `A sandbox cannot bring back what it copied before a lock`() throws {
            try sample.publish()
            let copies = try KeyScope.allCases.map { ($0, try bytes($0), try sample.entry($0)) }
            try sample.store.lock(all: true)
            for (scope, copy, _) in copies {
                let name = scope.randomName(of: sample.samples.keychainID)
                let key = try KernelKeyring.makeKey(named: name, payload: copy.span)
                try KernelKeyring.share(key)
                try KernelKeyring.publish(key)
                KernelKeyring.dropFromThread(key)
            }
            #expect(try sample.read(sample.fresh()) == "before notUnlocked")
            #expect(sample.store.findings().contains { $0.contains("unused keys in the kernel") })
            // Nor after the next unlock, whose sharing keys are others.
            try sample.publish()
            #expect(sample.store.findings().isEmpty, "an unlock sweeps away what was planted")
            for (scope, copy, _) in copies { try sample.plant(copy, as: scope) }
            #expect(try sample.read(sample.fresh()) == "before invalid:changedByOthers")
        }

        // Promise: 7.5
        @Test func `A sandbox cannot make a deadline later with an older copy`() throws {
            try sample.publish(for: 100_000)
            let copy = try bytes(.whileUnlocked)
            try sample.publish(for: 100)
            try sample.plant(copy, as: .whileUnlocked)
            #expect(try sample.read(sample.fresh()) == "\(first) invalid:changedByOthers")
        }

        // Promise: 7.6
        @Test func `A sandbox cannot do more than lock by taking the rights of a key away`() throws
        {
            try sample.publish()
            let key = try sample.serial(.whileUnlocked)
            _ = valet_keyctl(KEYCTL_SETPERM, key.rawValue, 0)
            #expect(try sample.read() == "\(first) notUnlocked")
            #expect(try sample.read(sample.fresh()) == "\(first) notUnlocked")
            try sample.store.lock(all: false)
            try sample.publish()
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
            _ = valet_keyctl(KEYCTL_SETPERM, try sample.serial(.afterFirstUnlock).rawValue, 0)
            try sample.store.lock(all: true)
            #expect(try sample.read() == "before notUnlocked")
        }

        // Promise: 7.6
        @Test(arguments: [Int32(KEYCTL_REVOKE), Int32(KEYCTL_INVALIDATE)], KeyScope.allCases)
        func `A sandbox cannot do more than lock by ending a key`(
            _ operation: Int32, _ scope: KeyScope
        ) throws {
            try sample.publish()
            _ = valet_keyctl(operation, try sample.serial(scope).rawValue, 0)
            let expected =
                scope == .whileUnlocked
                ? "\(first) notUnlocked" : "before firstUnlockKeysLost"
            #expect(try sample.read(sample.fresh()) == expected)
            try sample.store.lock(all: true)
            try sample.publish()
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
        }

        // Promise: 7.5
        @Test func `A sandbox cannot plant keys by their name`() throws {
            let id = sample.samples.keychainID
            for letter in ["u", "f"] {
                let key = try KernelKeyring.makeKey(
                    named: "valet:2:\(id):\(letter):0123", payload: Array("forged".utf8).span)
                try KernelKeyring.share(key)
                try KernelKeyring.publish(key)
                KernelKeyring.dropFromThread(key)
            }
            #expect(try sample.read() == "before notUnlocked")
            #expect(sample.store.findings().contains { $0.contains("unused keys in the kernel") })
            try sample.store.lock(all: true)
            #expect(sample.store.findings().isEmpty)
        }

        @Test
        func `A sandbox cannot have a key past its deadline believed by clearing its timeout`()
            throws
        {
            try sample.publish(for: 100)
            try KernelKeyring.setTimeout(0, of: sample.serial(.whileUnlocked))
            sample.clock.advance(by: 100)
            #expect(try sample.read(sample.fresh()) == "\(first) deadlinePassed")
        }
    }

    /// What a writer of the folders can do, and accidents.
    @Suite struct `Folders of shared keys` {
        let sample = KernelSample()
        private let unlocked = "unlocked 1\(KernelSample.all)"

        private func change(_ path: String, _ body: (inout Data) -> Void) throws {
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            var data = try handle.readToEnd() ?? Data()
            body(&data)
            try handle.truncate(atOffset: 0)
            try handle.seek(toOffset: 0)
            try handle.write(contentsOf: data)
            try handle.close()
        }

        @Test(
            arguments: [0..<10, 10..<16, 16..<32, 32..<48], [true, false])
        func `Folders of shared keys lock everything their page of locks is changed for`(
            _ range: Range<Int>, _ remembers: Bool
        ) throws {
            try sample.publish()
            let reader = sample.fresh()
            if remembers { #expect(try sample.read(reader) == unlocked) }
            try change(sample.pagePath) { page in for index in range { page[index] ^= 1 } }
            let expected =
                range == 32..<48
                ? "locked 1\(KernelSample.first) notUnlocked" : "before notUnlocked"
            let answer = try sample.read(reader)
            // The mark of the first unlock alone: what is unlocked cannot be searched.
            #expect(
                answer == (range == 16..<32 ? "before firstUnlockKeysLost" : expected))
            try sample.publish()
            #expect(try sample.read() == unlocked)
            #expect(try sample.read(reader) == unlocked)
        }

        @Test func `Keys are locked while their page is cut short, until the next unlock mends it`()
            throws
        {
            try sample.publish()
            let reader = sample.fresh()
            #expect(try sample.read(reader) == unlocked)
            _ = unsafe truncate(sample.pagePath, 0)
            #expect(try sample.read(reader) == "before notUnlocked")
            try sample.publish()
            #expect(try sample.read(reader) == unlocked)
        }

        // Promise: 7.10
        @Test func `Folders of shared keys stay locked when the page of before a lock is put back`()
            throws
        {
            try sample.publish()
            let page = try Data(contentsOf: URL(fileURLWithPath: sample.pagePath))
            try sample.store.lock(all: true)
            try change(sample.pagePath) { $0 = page }
            #expect(try sample.read(sample.fresh()) == "before notUnlocked")
        }

        @Test func `Folders of shared keys are looked up anew when the page is another file`()
            throws
        {
            try sample.publish()
            let reader = sample.fresh()
            let keys = try #require(reader.current(expecting: sample.samples.mark(1)).keys)
            try FileManager.default.moveItem(
                atPath: sample.pagePath, toPath: sample.pagePath + ".old")
            try sample.store.lock(all: false)
            // The lock has made another page, and waits for those that look at the old one.
            #expect(!reader.isUnlocked(with: keys))
            #expect(try sample.read(reader) == "before notUnlocked")
        }

        /// A daemon closes what it did not open, and gets the number for a file of its own.
        @Test func `A page whose descriptor was taken is opened anew`()
            throws
        {
            try sample.publish()
            let reader = sample.fresh()
            let keys = try #require(reader.current(expecting: sample.samples.mark(1)).keys)
            let path = sample.folder + "/of-somebody-else"
            let contents = Data(repeating: 0x78, count: 4096)
            try contents.write(to: URL(fileURLWithPath: path))
            let numbers = descriptors(of: sample.pagePath)
            let file = unsafe open(path, O_RDWR)
            #expect(!numbers.isEmpty && file >= 0)
            for number in numbers { #expect(dup2(file, number) == number) }
            close(file)
            _ = reader.isUnlocked(with: keys)
            #expect(try sample.read(reader) == unlocked)
            // A lock writes to the page, and not to what has its number.
            try sample.store.lock(all: false)
            #expect(try sample.read(reader) == "locked 1\(KernelSample.first) notUnlocked")
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == contents)
            // And nobody has closed it.
            #expect(descriptors(of: path) == numbers)
            for number in numbers { close(number) }
        }

        private func descriptors(of path: String) -> [Int32] {
            let folder = "/proc/self/fd"
            let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.compactMap { Int32($0) }.sorted().filter {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)"))
                    == path
            }
        }

        // Promise: 7.10
        @Test(arguments: [mode_t(0o640), 0o604, 0o700])
        func `Folders of shared keys are not shared through a file that others may read`(
            _ mode: mode_t
        ) throws {
            try sample.publish()
            _ = unsafe chmod(sample.filePath, mode)
            let isOwn = mode & 0o077 == 0
            #expect(try sample.read(sample.fresh()) == (isOwn ? unlocked : "before notUnlocked"))
            try sample.publish()
            #expect(try sample.read(sample.fresh()) == unlocked)
        }

        // Promise: 7.10
        @Test func `Folders of shared keys are not shared through a symbolic link`() throws {
            try sample.publish()
            let elsewhere = sample.folder + "/elsewhere"
            _ = unsafe rename(sample.filePath, elsewhere)
            _ = unsafe symlink(elsewhere, sample.filePath)
            #expect(try sample.read(sample.fresh()) == "before notUnlocked")
        }

        // Promise: 7.10
        @Test func `Folders of shared keys are not shared through a file with a second name`()
            throws
        {
            try sample.publish()
            _ = unsafe link(sample.filePath, sample.folder + "/second")
            #expect(try sample.read(sample.fresh()) == "before notUnlocked")
        }

        // Promise: 7.10
        @Test func `Folders of shared keys keep no sharing key that opens anything after a lock`()
            throws
        {
            try sample.publish()
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: sample.filePath))
            try sample.store.lock(all: true)
            let contents = try #require(try handle.readToEnd())
            #expect(contents.count == 146)
            #expect(contents.dropFirst(42).allSatisfy { $0 == 0 })
            try sample.publish()
            let next = try FileHandle(forReadingFrom: URL(fileURLWithPath: sample.filePath))
            try sample.publish()
            // Also what a backup program has open is emptied by the next unlock.
            #expect(try next.readToEnd()?.dropFirst(42).allSatisfy { $0 == 0 } == true)
        }

        // Promise: 7.9
        @Test func `Folders of shared keys that cannot be written keep the keys in the process`()
            throws
        {
            let reader = sample.fresh()
            _ = unsafe chmod(sample.folder, 0o755)
            try sample.publish()
            #expect(sample.store.provider.place == .process)
            #expect(sample.store.fallback?.code == .cannotShare)
            #expect(try sample.read() == unlocked)
            #expect(try sample.read(reader) == "before notUnlocked")
            let error = #expect(throws: KeychainFailure.self) { try sample.store.lock(all: false) }
            #expect(error?.code == .inputOutput)
            #expect(try sample.read() == "locked 1\(KernelSample.first) notUnlocked")
            _ = unsafe chmod(sample.folder, 0o700)
        }
    }

    @Suite(.enabled(if: RuntimeRoot.isThere, "needs a folder in memory at /dev/shm"))
    struct `A runtime folder of the user` {
        let root: RuntimeRoot
        let sample: KernelSample
        private let unlocked = "unlocked 1\(KernelSample.all)"
        private var path: String {
            "\(root.path)/\(geteuid())/valet/sharing.\(sample.samples.keychainID)"
        }

        init() throws {
            root = try RuntimeRoot()
            sample = KernelSample(runtimeRoot: root.path)
        }

        @Test
        func `The sharing file is in the runtime folder, with the sticky bit, and on no disk`()
            throws
        {
            try sample.publish()
            #expect(try sample.read(sample.fresh()) == unlocked)
            var status = stat()
            let found = unsafe lstat(path, &status)
            #expect(found == 0)
            #expect(status.st_mode & 0o7777 == 0o1600)
            #expect(!FileManager.default.fileExists(atPath: sample.filePath))
        }

        @Test func `A runtime folder of the user is enough: no device folder is made beside it`()
            throws
        {
            let deviceFolder = sample.folder + "/device"
            try FileManager.default.removeItem(atPath: deviceFolder)
            try sample.publish()
            #expect(FileManager.default.fileExists(atPath: path))
            #expect(!FileManager.default.fileExists(atPath: deviceFolder))
            // Made where it is needed.
            _ = unsafe chmod("\(root.path)/\(geteuid())", 0o755)
            try sample.publish()
            #expect(FileManager.default.fileExists(atPath: sample.filePath))
        }

        @Test func `A runtime folder that appears later replaces the device folder`() throws {
            let before = KernelSample()
            try before.publish()
            let old = try FileHandle(forReadingFrom: URL(fileURLWithPath: before.filePath))
            let later = before.clock.store(
                of: before.samples, in: .kernel, runtimeRoot: root.path)
            #expect(try before.read(later) == unlocked)
            try later.publish(before.samples.epoch(1), within: .none)
            #expect(try before.read(later) == unlocked)
            #expect(try old.readToEnd()?.dropFirst(42).allSatisfy { $0 == 0 } == true)
            try later.lock(all: true)
            #expect(try before.read(later) == "before notUnlocked")
        }

        @Test func `A runtime folder of the user that goes away takes the keys along`() throws {
            try sample.publish()
            #expect(try sample.read() == unlocked)
            try FileManager.default.removeItem(atPath: "\(root.path)/\(geteuid())/valet")
            #expect(try sample.read(sample.fresh()) == "before notUnlocked")
            try sample.publish()
            #expect(try sample.read(sample.fresh()) == unlocked)
        }

        // Promise: 7.10
        @Test(arguments: [mode_t(0o755), 0o770])
        func `A runtime folder of the user that others may enter is not used`(_ mode: mode_t) throws
        {
            _ = unsafe chmod("\(root.path)/\(geteuid())", mode)
            try sample.publish()
            #expect(FileManager.default.fileExists(atPath: sample.filePath))
            #expect(!FileManager.default.fileExists(atPath: path))
        }

        @Test func `A runtime folder of the user that is a symbolic link is not used`() throws {
            let own = "\(root.path)/\(geteuid())"
            _ = unsafe rename(own, own + ".elsewhere")
            _ = unsafe symlink(own + ".elsewhere", own)
            try sample.publish()
            #expect(FileManager.default.fileExists(atPath: sample.filePath))
        }

        @Test func `A runtime folder of the user on a disk is not used`() throws {
            // A folder that is not in memory.
            let disk = "/var/tmp/valet-test-\(UUID().uuidString)"
            for folder in [disk, "\(disk)/\(geteuid())"] { _ = unsafe mkdir(folder, 0o700) }
            defer { try? FileManager.default.removeItem(atPath: disk) }
            let sample = KernelSample(runtimeRoot: disk)
            try sample.publish()
            #expect(FileManager.default.fileExists(atPath: sample.filePath))
        }
    }
}

/// A folder in memory with a runtime folder of this user, removed with this object.
final class RuntimeRoot {
    static var isThere: Bool { FileManager.default.isWritableFile(atPath: "/dev/shm") }

    let path: String

    init() throws {
        path = "/dev/shm/valet-test-\(UUID().uuidString)"
        for folder in [path, "\(path)/\(geteuid())"] { _ = unsafe mkdir(folder, 0o700) }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
