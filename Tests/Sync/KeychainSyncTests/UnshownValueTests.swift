// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing
import ValetSync
import ValetTestSupport

@testable import ValetSyncAgent

/// docs/SYNC.md §1, promise 2, with two keychains and messages that the test passes on.
@Suite(.serialized) struct `A value that no row shows` {
    private let here: TestDevice
    private let there: TestDevice

    init() throws {
        (here, there) = (try TestDevice(), try TestDevice())
        // One of them reads its tables anew in each call.
        there.forgets = true
    }

    /// How a user settles a conflict, or writes over it.
    enum Settling: CaseIterable {
        case write, removal, taking
    }

    // MARK: Not sent yet

    // Promise: 19.15
    @Test func `A value that waits to be sent is a conflict`() throws {
        try setAside()
        let conflict = try #require(try there.conflicts.first)
        #expect(conflict.text == "unsent")
        #expect(conflict.author == there.id.high)
        #expect(conflict.shown?.value?.text == "newer")
        #expect(try there.view { try $0.content(of: conflict.id)?.value?.text } == "unsent")
        #expect(try there.backUp().unshownCount == 1)
        let other = try #require(try exchanged { try here.conflicts.first })
        #expect(other.text == "unsent")
        #expect(try there.conflicts.map(\.text) == ["unsent"])
    }

    // Promise: 19.15
    @Test(arguments: Settling.allCases)
    func `A write keeps the value that waits to be sent`(_ settling: Settling) throws {
        try setAside()
        try settle(on: there, settling)
        #expect(try there.allValues.contains("unsent"))
        #expect(try there.conflicts.isEmpty)
        #expect(try there.count("SELECT count(*) FROM sync_entry WHERE kind = 8") == 0)
        try exchange()
        #expect(try here.value("c") == there.value("c"))
        #expect(try here.conflicts.isEmpty)
    }

    // Promise: 19.15
    @Test func `A value that is dropped before it was sent reaches no device`() throws {
        try setAside()
        let conflict = try #require(try there.conflicts.first)
        try there.update { try $0.drop(conflict.id) }
        #expect(try there.conflicts.isEmpty)
        #expect(try there.replaced.first == "unsent")
        try exchange()
        for device in [here, there] {
            #expect(try device.value("c") == "newer")
            #expect(try device.conflicts.isEmpty)
        }
        #expect(try !here.allValues.contains("unsent"))
        #expect(try there.update { $0.replica?.isIdle } == true)
        #expect(try there.update { $0.replica?[.afterFirstUnlock].pendingCount } == 0)
    }

    // Promise: 19.15
    @Test func `Dropping a value that waits leaves no move behind that waits for it`() throws {
        try setAside(moving: true)
        let conflict = try #require(try there.conflicts.first { $0.text == "unsent" })
        try there.update { try $0.drop(conflict.id) }
        try exchange()
        try exchange()
        for scope in KeyScope.allCases {
            #expect(try there.update { $0.replica?[scope].pendingCount } == 0)
        }
        #expect(try here.value("c") == there.value("c"))
        #expect(try there.value("c") == "newer")
    }

    // Promise: 19.15
    @Test func `An older value that arrives before this device has sent its own is a conflict`()
        throws
    {
        try exchangeFirst()
        try here.set("c", "older")
        try here.sendAll()
        for value in ["new", "newer"] { try there.set("c", value) }
        try there.update { _ in }
        for message in here.sent[.afterFirstUnlock]?.suffix(1) ?? [] { try there.receive(message) }
        #expect(try there.value("c") == "newer")
        let conflict = try #require(try there.conflicts.first)
        #expect(conflict.text == "older")
        #expect(conflict.shown?.value?.text == "newer")
    }

    // Promise: 19.14
    @Test func `A value that was sent is set aside no longer`() throws {
        try setAside()
        try exchange()
        #expect(try there.count("SELECT count(*) FROM sync_entry WHERE kind = 8") == 0)
        #expect(try there.backUp().unshownCount == 1)
        let conflict = try #require(try there.conflicts.first)
        try there.update { try $0.drop(conflict.id) }
        #expect(try there.backUp().unshownCount == 0)
        try there.forgetFormerValues()
        #expect(try there.update { try $0.end() } == UnshownValues())
        #expect(try there.replaced.isEmpty)
    }

    // Promise: 19.14
    @Test func `A copy that no pending change names is deleted`() throws {
        try setAside()
        let copy = try #require(
            try there.update { update in
                let key = update.replica?.shownItems.keys.first
                return try key.flatMap {
                    try update.reader.entry(EntryKind.aside, ReplicaEntry.id(of: $0))
                }
            })
        try exchange()
        try there.update { update in
            try update.tables.put(copy)
            update.hasWritten = true
        }
        #expect(try there.count("SELECT count(*) FROM sync_entry WHERE kind = 8") == 1)
        try there.update { _ in }
        #expect(try there.count("SELECT count(*) FROM sync_entry WHERE kind = 8") == 0)
    }

    // MARK: Covered

    // Promise: 19.15
    @Test(arguments: Settling.allCases)
    func `A local write keeps the conflicts that it settles`(_ settling: Settling) throws {
        try makeConflict()
        let lost = try #require(try here.conflicts.first?.text)
        try settle(on: here, settling)
        #expect(try here.conflicts.isEmpty)
        #expect(try here.allValues.contains(lost))
        try exchange()
        #expect(try there.conflicts.isEmpty)
        // A device that shows another value keeps both.
        #expect(try there.allValues.isSuperset(of: ["here", "there"]))
    }

    // Promise: 19.15
    @Test func `A local write keeps all conflicts that it settles, whatever the setting says`()
        throws
    {
        let third = try TestDevice()
        let devices = [here, there, third]
        for (device, value) in zip(devices, ["1", "2", "3"]) { try device.set("c", value) }
        for device in devices { try device.sendAll() }
        for device in devices {
            for other in devices where other !== device { try device.pass(to: other) }
        }
        let lost = Set(try here.conflicts.compactMap(\.text))
        #expect(lost.count == 2)
        let settings = Caller(
            applicationIdentifier: "app", accessGroups: [AccessGroup("valet.settings")])
        try here.store.set(
            Addition(KeychainSetting.history.item, value: .text("0")), for: settings)
        try here.set("c", "later")
        try here.update { _ in }
        #expect(Set(try here.replaced) == lost)
    }

    // Promise: 19.15
    @Test func `A value that this device keeps for itself does not cover others in silence`() throws
    {
        try exchangeFirst()
        try here.change("c", ItemChanges(protectionClass: .afterFirstUnlockThisDeviceOnly))
        try exchange()
        try there.set("c", "there")
        try exchange()
        try here.change("c", ItemChanges(attributes: [.label: .text("label")]))
        try exchange()
        #expect(try here.replaced.contains("there"))
        #expect(try there.replaced.contains("there"))
    }

    // Promise: 19.15
    @Test(arguments: [true, false])
    func `A value that is purged does not come back because another device had stored it, too`(
        _ isSent: Bool
    ) throws {
        try there.set("c", "same")
        // The second change is later, also if the clock has not moved.
        for value in ["other", "same"] { try here.set("c", value) }
        if isSent {
            try exchange()
            try exchange()
        } else {
            try here.pass(to: there)
        }
        #expect(try there.conflicts.isEmpty)
        try there.delete("c")
        try there.forgetFormerValues()
        try there.update { _ in }
        #expect(try there.replaced.isEmpty)
    }

    // Promise: 19.15
    @Test func `A locked keychain does not cover what it cannot keep`() throws {
        try there.keychain.setPasscode()
        try there.keychain.unlock()
        try makeConflict(as: .whenUnlocked)
        let lost = try #require(try there.conflicts.first?.text)
        try there.set("c", "later", as: .whenUnlocked)
        try there.store.keychain.lock()
        let failure = #expect(throws: KeychainFailure.self) { try there.update { _ in } }
        #expect(failure?.code == .locked)
        try there.keychain.unlock()
        try there.update { _ in }
        #expect(try there.replaced.contains(lost))
    }

    // MARK: Brought anew

    // Promise: 19.15
    @Test(arguments: [true, false])
    func `A new circle has the conflicts before anything is sent there`(_ isDropped: Bool) throws {
        try makeConflict()
        let (shown, lost) = (try here.value("c"), try here.conflicts.map(\.text))
        try here.update { try $0.move(to: here.newLog(), here.newLog()) }
        let conflict = try #require(try here.conflicts.first)
        #expect(conflict.text == lost.first)
        #expect(try here.view { try $0.content(of: conflict.id)?.value?.text } == lost.first)
        try here.update { update in
            isDropped ? try update.drop(conflict.id) : try update.take(conflict.id)
        }
        #expect(try here.conflicts.isEmpty)
        try here.sendAll()
        let new = try TestDevice()
        for scope in KeyScope.allCases { try new.receive(try here.base(scope)) }
        #expect(try new.value("c") == (isDropped ? shown : lost.first))
        #expect(try new.conflicts.isEmpty)
        #expect(try here.replaced.first == (isDropped ? lost.first : shown))
    }

    // MARK: Steps

    private func exchange() throws {
        try here.pass(to: there)
        try there.pass(to: here)
    }

    private func exchanged<R>(_ body: () throws -> R) throws -> R {
        try exchange()
        return try body()
    }

    private func exchangeFirst() throws {
        try here.set("c", "first")
        try exchange()
    }

    private func makeConflict(as protectionClass: ProtectionClass = .afterFirstUnlock) throws {
        try here.set("c", "first", as: protectionClass)
        try exchange()
        try here.set("c", "here", as: protectionClass)
        try there.set("c", "there", as: protectionClass)
        try exchange()
        try exchange()
        #expect(try here.conflicts.count == 1)
    }

    /// `there` shows what `here` has written after it.
    ///
    /// - Parameter isMoving: Whether the class of the item changes as well.
    private func setAside(moving isMoving: Bool = false) throws {
        let protectionClass: ProtectionClass = isMoving ? .whenUnlocked : .afterFirstUnlock
        try exchangeFirst()
        if isMoving {
            for device in [here, there] {
                try device.change("c", ItemChanges(protectionClass: protectionClass))
            }
        }
        try there.set("c", "unsent", as: protectionClass)
        try there.update { _ in }
        // The second change is later, also if the clock has not moved.
        for value in ["new", "newer"] { try here.set("c", value, as: protectionClass) }
        try here.sendAll()
        for scope in [KeyScope.whileUnlocked, .afterFirstUnlock] {
            for message in here.sent[scope] ?? [] where try there.isNext(message) {
                try there.receive(message)
            }
        }
        #expect(try there.value("c") == "newer")
    }

    private func settle(on device: TestDevice, _ settling: Settling) throws {
        switch settling {
        case .write: try device.set("c", "later")
        case .removal: try device.delete("c")
        case .taking:
            let conflict = try #require(try device.conflicts.first)
            try device.update { try $0.take(conflict.id) }
        }
        try device.update { _ in }
    }
}

extension TestDevice {
    /// The value that the row of `c` shows, the values of conflicts, and former values.
    fileprivate var allValues: Set<String> {
        get throws {
            let query = ItemQuery(.genericPassword, attributes: [:], synchronizable: .any)
            let former = try store.formerItems([query], for: Self.caller).map {
                try store.formerValue($0)?.value.text ?? ""
            }
            return Set(try former + conflicts.compactMap(\.text) + [value("c")].compactMap(\.self))
        }
    }

    /// Deletes all former values, as `valet settings history 0 --purge` does.
    fileprivate func forgetFormerValues() throws {
        try tamper("DELETE FROM former")
    }
}
