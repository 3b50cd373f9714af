// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystemSupport
import ValetTestValues

@testable import ValetSystem

@Suite struct `The lock file` {
    let folder: TestFolder
    let directory: PrivateDirectory
    let lock: FileLock

    init() throws {
        folder = try TestFolder()
        directory = try folder.directory()
        lock = FileLock("keychain.lock", in: directory)
    }

    private func tryAnother(within milliseconds: Int = 0) throws {
        let another = FileLock("keychain.lock", in: directory)
        _ = try another.acquire(before: Deadline(after: .milliseconds(milliseconds)))
    }

    @Test func `A lock file excludes everyone else until it is released`() throws {
        do {
            let held = try lock.acquire(before: .immediately)
            let error = #expect(throws: SystemError.self) { try tryAnother() }
            #expect(error?.code == .busy)
            #expect(error?.path == folder.path("keychain.lock"))
            _ = consume held
        }
        try tryAnother()
    }

    @Test func `A lock is held to the end of its scope without being used`() throws {
        do {
            let held = try lock.acquire(before: .immediately)
            for _ in 0..<3 { #expect(throws: SystemError.self) { try tryAnother() } }
            _ = held
        }
        try tryAnother()
    }

    @Test func `A lock file excludes other processes`() throws {
        let held = try lock.acquire(before: .immediately)
        let other = try OtherProcess(
            """
            import fcntl, os, struct, sys
            f = os.open(sys.argv[1], os.O_RDWR)
            try:
                fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
                print("free")
            except BlockingIOError:
                print("busy")
            """, folder.path("keychain.lock"))
        #expect(other.line() == "busy")
        _ = consume held
    }

    @Test(arguments: [0, 60, 300], [false, true])
    func `Waiting for a lock ends at the deadline, even if its holder is stopped`(
        _ milliseconds: Int, _ isStopped: Bool
    ) throws {
        let other = try OtherProcess.holdingLock(folder.path("keychain.lock"))
        if isStopped { other.signal(SIGSTOP) }
        let (time, error) = timed(within: .milliseconds(milliseconds + 50)) {
            _ = try lock.acquire(before: Deadline(after: .milliseconds(milliseconds)))
        }
        #expect((error as? SystemError)?.code == .busy)
        #expect(time >= .milliseconds(milliseconds))
        #expect(time < .milliseconds(milliseconds + 50))
    }

    @Test func `A killed holder releases its lock`() throws {
        let other = try OtherProcess.holdingLock(folder.path("keychain.lock"))
        other.signal(SIGKILL)
        _ = try lock.acquire(before: Deadline(after: .seconds(10)))
    }

    @Test func `A released lock is taken at once`() throws {
        let other = try OtherProcess.holdingLock(folder.path("keychain.lock"))
        other.goOn()
        _ = try lock.acquire(before: Deadline(after: .seconds(10)))
    }

    @Test func `One thread at a time holds a lock`() {
        let lock = lock
        let inside = Shared((now: 0, most: 0, total: 0))
        onThreads(8) { _ in
            for _ in 0..<100 {
                guard let held = try? lock.acquire(before: .never) else { continue }
                inside.change { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.total + 1) }
                inside.change { $0.now -= 1 }
                _ = consume held
            }
        }
        #expect(inside.change { $0 } == (0, 1, 800))
    }

    // Promise: 17.1
    @Test func `A thread that gives up at its deadline does not lose the lock for others`() throws {
        let lock = lock
        do {
            let held = try lock.acquire(before: .immediately)
            let late = Shared(0)
            onThreads(4) { _ in
                let (time, error) = timed(within: .milliseconds(150)) {
                    _ = try lock.acquire(before: Deadline(after: .milliseconds(100)))
                }
                let isBusy = (error as? SystemError)?.code == .busy
                if isBusy, time >= .milliseconds(100), time < .milliseconds(150) {
                    late.change { $0 += 1 }
                }
            }
            #expect(late.change { $0 } == 4)
            _ = consume held
        }
        _ = try lock.acquire(before: .immediately)
    }

    @Test func `A new lock file is locked after the old one was removed`() throws {
        _ = try lock.acquire(before: .immediately)
        folder.remove("keychain.lock")
        Thread.sleep(forTimeInterval: 0.11)
        let held = try lock.acquire(before: .immediately)
        #expect(throws: SystemError.self) { try tryAnother() }
        _ = consume held
    }

    @Test(arguments: [0o000, 0o077, 0o777] as [mode_t])
    func `A lock file has mode 0600 whatever the umask`(_ mask: mode_t) throws {
        let path = folder.path
        try withUmask(mask) {
            let directory = try PrivateDirectory.open(path, creating: false)
            _ = try FileLock("keychain.lock", in: directory).acquire(before: .immediately)
        }
        #expect(folder.mode("keychain.lock") == 0o600)
    }

    @Test func `A lock file that is a symbolic link is refused and its target not created`() {
        folder.link("keychain.lock", to: "target")
        let error = #expect(throws: SystemError.self) { try tryAnother() }
        #expect(error?.code == .symbolicLink)
        #expect(folder.mode("target") == nil)
    }

    @Test
    func `A lock file that others may open is refused, and works again once that is corrected`()
        throws
    {
        _ = try lock.acquire(before: .immediately)
        folder.setMode(0o666, of: "keychain.lock")
        Thread.sleep(forTimeInterval: 0.11)
        let error = #expect(throws: SystemError.self) {
            _ = try lock.acquire(before: .immediately)
        }
        #expect(error?.code == .wrongMode)
        folder.setMode(0o600, of: "keychain.lock")
        try tryAnother()
        _ = try lock.acquire(before: .immediately)
    }
}

@Suite struct `The queue of threads` {
    @Test func `The queue of threads is served in order of arrival`() {
        let lock = FairLock()
        let order = Shared([Int]())
        #expect(lock.acquire(before: .immediately))
        let arrived = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        for number in 0..<6 {
            Thread.detachNewThread {
                arrived.signal()
                _ = lock.acquire(before: .never)
                order.change { $0.append(number) }
                lock.release()
                done.signal()
            }
            arrived.wait()
            while lock.waiterCount <= number { usleep(100) }
        }
        lock.release()
        for _ in 0..<6 { done.wait() }
        #expect(order.change { $0 } == Array(0..<6))
    }

    @Test func `The queue of threads does not wait without time`() {
        let lock = FairLock()
        #expect(lock.acquire(before: .immediately))
        #expect(!lock.acquire(before: .immediately))
        lock.release()
        #expect(lock.acquire(before: .immediately))
    }
}
