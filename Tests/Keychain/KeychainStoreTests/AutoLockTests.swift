// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetKeys
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// A keychain that locks itself when it is not used. All these tests wait for the clock of the
/// machine, and for nothing else: how fast they are does not matter.
@Suite(.timeLimit(.minutes(20))) struct `An unlock with an idle time` {
    enum Use: CaseIterable {
        case reading, looking, listing, writing, removing
    }

    enum Question: CaseIterable {
        case availability, status, diagnosis, otherClass
    }

    private let keychain = TestKeychain()
    private var store: ItemStore { keychain.store }

    init() throws {
        try keychain.addItems([.whenUnlocked, .afterFirstUnlock])
        try store.keychain.setPasscode(TestKeychain.passcode("correct"))
    }

    private func unlock(for duration: Duration? = nil, autoLock idle: Duration) throws -> BootTime {
        try store.keychain.unlock(TestKeychain.passcode("correct"), for: duration, autoLock: idle)
        return try #require(try store.keychain.availability().end)
    }

    /// Time passes without the processor, too.
    private static func pause() { Thread.sleep(forTimeInterval: 0.005) }

    private func use(_ kind: Use) throws {
        switch kind {
        case .reading: #expect(try keychain.value("whenUnlocked") == "value of whenUnlocked")
        case .looking: #expect(try store.contains(.exact("whenUnlocked"), for: keychain.caller))
        case .listing:
            let found = try store.copy(.generic(), .attributes, for: keychain.caller)
            #expect(try found.items.count >= 2)
        case .writing: try keychain.add(UUID().uuidString)
        case .removing:
            let account = UUID().uuidString
            try keychain.add(account)
            #expect(try store.delete(.exact(account), for: keychain.caller) == 1)
        }
    }

    private func ask(_ kind: Question) throws {
        switch kind {
        case .availability: _ = try store.keychain.availability()
        case .status: _ = try store.keychain.status()
        case .diagnosis: _ = store.keychain.diagnose()
        case .otherClass:
            #expect(try keychain.value("afterFirstUnlock") == "value of afterFirstUnlock")
        }
    }

    @Test(arguments: Use.allCases)
    func `A use prolongs an unlock with an idle time`(_ kind: Use) throws {
        let end = try unlock(autoLock: .seconds(16))
        try use(kind)
        let opened = try store.workOnKeys("look") { $0.keychain.lastKnownState?.opened }
        while try store.keychain.availability().end == end {
            try use(kind)
            Self.pause()
        }
        #expect(try #require(try store.keychain.availability().end) > end)
        #expect(try store.keychain.status().autoLock == .seconds(16))
        #expect(try store.keychain.status().remaining == nil)
        // Nothing had to be opened again.
        let now = try store.workOnKeys("look") { $0.keychain.lastKnownState?.opened }
        #expect(opened != nil && now === opened)
    }

    // Promise: 7.3
    @Test(arguments: Question.allCases)
    func `Asking for the state does not prolong an unlock with an idle time`(_ kind: Question)
        throws
    {
        let end = try unlock(autoLock: .milliseconds(1_500))
        while true {
            try ask(kind)
            let found = try store.keychain.availability()
            guard found.state == .unlocked else { break }
            #expect(found.end == end)
            Self.pause()
        }
        #expect(try keychain.lockState() == .locked)
        #expect(try store.keychain.status().autoLock == nil)
        #expect(failure { _ = try keychain.value("whenUnlocked") } == .locked)
        #expect(try keychain.value("afterFirstUnlock") == "value of afterFirstUnlock")
    }

    @Test func `An unlock with an idle time continues while others write`() throws {
        let end = try unlock(autoLock: .seconds(16))
        let isShared = try store.keychain.status().lockStateProvider == "kernel"
        try store.tryOnKeys("write") { keys in
            let held = try keys.keychain.pool.lock.acquire(before: .never)
            let due = BootTime.now.advanced(by: .milliseconds(2_500))
            while BootTime.now < due {
                _ = try? keychain.value("whenUnlocked")
                Self.pause()
            }
            let found = try store.keychain.availability()
            #expect(!isShared || found.end == end)
            _ = consume held
        }
        while try store.keychain.availability().end == end {
            try use(.reading)
            Self.pause()
        }
        #expect(try keychain.lockState() == .unlocked)
    }

    @Test func `A key change keeps the limits of an unlock`() throws {
        _ = try unlock(for: .seconds(7_200), autoLock: .seconds(3_600))
        try store.keychain.rotateKeys(TestKeychain.passcode("correct"))
        let status = try store.keychain.status()
        #expect(status.state == .unlocked)
        #expect(status.epoch == 3)
        #expect(status.autoLock == .seconds(3_600))
        #expect(try #require(status.remaining) <= .seconds(7_200))
        #expect(keychain.readable(of: ["whenUnlocked"]) == ["whenUnlocked"])
    }

    @Test func `A new unlock replaces the idle time of the one before`() throws {
        _ = try unlock(for: .seconds(7_200), autoLock: .seconds(3_600))
        try store.keychain.unlock(TestKeychain.passcode("correct"))
        let status = try store.keychain.status()
        #expect(status.state == .unlocked)
        #expect(status.autoLock == nil)
        #expect(status.remaining == nil)
    }
}

@Suite struct `What helps where the keychain is locked` {
    @Test func `In a shared state the hint of a locked keychain is the command`() {
        let advice = KeychainFailure.unlockAdvice(ofProcess: false)
        #expect(advice == .text("run `valet unlock`"))
    }

    @Test func `In a state of its own the hint of a locked keychain is the process itself`() {
        let advice = KeychainFailure.unlockAdvice(ofProcess: true)
        let descriptor = "set $VALET_PASSCODE_FD to a descriptor that supplies the passcode"
        #expect(
            advice.text(naming: \.swiftName)
                == "call `ValetKeychain.unlock(passcode:)`, or " + descriptor)
        #expect(advice.commandText == descriptor)
    }
}
