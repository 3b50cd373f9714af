// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainServices
@testable import ValetKeychainStore

@Suite(.timeLimit(.minutes(20))) struct `The changes of the lock state` {
    @Test func `The lock state changes begin with the present and report each lock and unlock`()
        async throws
    {
        let keychain = try TestKeychain.withItemsAndPasscode()
        var states = keychain.changes.makeAsyncIterator()
        #expect(try await states.next() == .unlocked)
        try keychain.session.lock(all: false)
        #expect(try await states.next() == .locked)
        try keychain.session.lock(all: true)
        #expect(try await states.next() == .beforeFirstUnlock)
        try keychain.unlock()
        #expect(try await states.next() == .unlocked)
    }

    @Test func `The lock state changes report a new keychain and its passcode`() async throws {
        let keychain = TestKeychain()
        var states = keychain.changes.makeAsyncIterator()
        #expect(try await states.next() == .absent)
        try keychain.add("a")
        #expect(try await states.next() == .noPasscode)
        try keychain.setPasscode()
        #expect(try await states.next() == .unlocked)
    }

    @Test func `The lock state changes report the end of a timed unlock`() async throws {
        let keychain = try TestKeychain.withItemsAndPasscode()
        try keychain.session.lock(all: false)
        try keychain.unlock(for: .milliseconds(300))
        var states: [ValetKeychain.LockState] = []
        for try await state in keychain.changes {
            states.append(state)
            if state == .locked { break }
        }
        #expect(states.last == .locked)
    }

    @Test
    func `The lock state changes of a process without a writable folder report its own changes`()
        async throws
    {
        let keychain = try TestKeychain.withItemsAndPasscode()
        let path = keychain.folder + "/keychain.state"
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
        var states = keychain.changes.makeAsyncIterator()
        #expect(try await states.next() == .unlocked)
        try keychain.session.lock(all: false)
        let start = ContinuousClock.now
        #expect(try await states.next() == .locked)
        // Sooner than anybody looks of their own accord.
        #expect(start.duration(to: .now) < .seconds(25))
    }

    @Test func `Each reader of the lock state changes begins with the present`() async throws {
        let keychain = try TestKeychain.withItemsAndPasscode()
        let changes = keychain.changes
        try await withThrowingTaskGroup(of: [ValetKeychain.LockState].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var states: [ValetKeychain.LockState] = []
                    for try await state in changes {
                        states.append(state)
                        if state == .beforeFirstUnlock { break }
                    }
                    return states
                }
            }
            try keychain.session.lock(all: true)
            for try await states in group {
                #expect(states.last == .beforeFirstUnlock)
                #expect(states.count <= 2)
            }
        }
    }

    @Test func `The lock state changes do not repeat a state that a slow reader saw last`()
        async throws
    {
        let keychain = try TestKeychain.withItemsAndPasscode()
        var states = keychain.changes.makeAsyncIterator()
        #expect(try await states.next() == .unlocked)
        for _ in 0..<3 {
            try keychain.session.lock(all: false)
            try keychain.unlock()
        }
        try keychain.session.lock(all: true)
        var last = ValetKeychain.LockState.unlocked
        while last != .beforeFirstUnlock {
            let next = try await states.next()
            #expect(next != last)
            last = try #require(next)
        }
    }

    @Test func `The lock state changes end with the task that reads them`() async throws {
        let keychain = try TestKeychain.withItemsAndPasscode()
        let task = Task {
            var states: [ValetKeychain.LockState] = []
            for try await state in keychain.changes {
                states.append(state)
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            }
            return states
        }
        #expect(try await task.value == [.unlocked])
    }

    @Test func `The lock state changes end with one failure if the state is unknown`() async throws
    {
        let keychain = try TestKeychain.withItemsAndPasscode()
        keychain.store.close()
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: keychain.folder)
        var states = keychain.changes.makeAsyncIterator()
        do throws(KeychainFailure) {
            _ = try await states.next()
            Issue.record("a state was told")
        } catch {
            #expect(error.code == .insecureFiles)
        }
        #expect(try await states.next() == nil)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o700], ofItemAtPath: keychain.folder)
    }
}

@Suite(.timeLimit(.minutes(20))) struct `Waiting for the keychain` {
    private func wait(
        _ keychain: TestKeychain, _ protectionClass: ProtectionClass, _ limit: Duration
    ) async -> KeychainFailure.Code? {
        do throws(KeychainFailure) {
            try await keychain.session.waitUntilAvailable(
                for: protectionClass, deadline: .now + limit)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: ProtectionClass.allCases)
    func `Waiting ends at once for a missing, an unprotected and an unlocked keychain`(
        _ protectionClass: ProtectionClass
    ) async throws {
        let keychain = TestKeychain()
        #expect(await wait(keychain, protectionClass, .zero) == nil)
        try keychain.add("a")
        #expect(await wait(keychain, protectionClass, .zero) == nil)
        try keychain.setPasscode()
        #expect(await wait(keychain, protectionClass, .zero) == nil)
    }

    // Promise: 17.3
    @Test func `Waiting for a closed class ends at the deadline`() async throws {
        let keychain = try TestKeychain.withItemsAndPasscode()
        try keychain.session.lock(all: false)
        #expect(await wait(keychain, .whenUnlocked, .milliseconds(50)) == .locked)
        #expect(await wait(keychain, .afterFirstUnlock, .zero) == nil)
        try keychain.session.lock(all: true)
        #expect(await wait(keychain, .afterFirstUnlock, .milliseconds(50)) == .locked)
    }

    @Test func `Waiting ends when the keychain is unlocked`() async throws {
        let keychain = try TestKeychain.withItemsAndPasscode()
        try keychain.session.lock(all: true)
        async let answers = [
            wait(keychain, .whenUnlocked, .seconds(60)),
            wait(keychain, .afterFirstUnlock, .seconds(60)),
        ]
        try await offloading { () throws(KeychainFailure) in
            try keychain.session.unlock(
                Passcode(.text(TestKeychain.passcode)), for: nil)
        }
        #expect(await answers == [nil, nil])
    }

    @Test func `Waiting accepts a value of kSecAttrAccessible and no other text`() async throws {
        #expect(TestProcess.isPrepared)
        try await ValetKeychain.waitUntilAvailable(
            for: ProtectionClass.whenUnlocked.code, deadline: .now)
        do throws(KeychainFailure) {
            try await ValetKeychain.waitUntilAvailable(for: "whenUnlocked", deadline: .now)
            Issue.record("another text was taken")
        } catch {
            #expect(error.code == .invalidRequest)
        }
    }

    // Promise: 17.3
    @Test func `Waiting ends when its task is cancelled`() async throws {
        let keychain = try TestKeychain.withItemsAndPasscode()
        try keychain.session.lock(all: false)
        let task = Task { await wait(keychain, .whenUnlocked, .seconds(600)) }
        try await Task.sleep(for: .milliseconds(20))
        task.cancel()
        #expect(await task.value == .userCancelled)
    }

    @Test func `Waiting fails at once when the device key is missing`() async throws {
        let keychain = try TestKeychain.withItemsAndPasscode()
        try keychain.session.lock(all: true)
        try FileManager.default.removeItem(atPath: keychain.folder + "/device/device.key")
        #expect(await wait(keychain, .whenUnlocked, .seconds(600)) == .incomplete)
    }
}

extension TestKeychain {
    /// With an item that needs an unlocked keychain, one that needs a first unlock, and a passcode.
    static func withItemsAndPasscode() throws -> TestKeychain {
        let keychain = TestKeychain()
        try keychain.add("ak", as: .whenUnlocked)
        try keychain.add("ck", as: .afterFirstUnlock)
        try keychain.setPasscode()
        return keychain
    }

    fileprivate var changes: ValetKeychain.LockStateChanges {
        ValetKeychain.LockStateChanges { [session] () throws(KeychainFailure) in session }
    }
}
