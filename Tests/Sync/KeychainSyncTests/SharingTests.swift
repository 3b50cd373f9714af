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

/// docs/SYNC.md §4, with two keychains and messages that the test passes on.
@Suite(.serialized) struct `Two keychains` {
    private let here: TestDevice
    private let there: TestDevice

    init() throws {
        (here, there) = (try TestDevice(), try TestDevice())
        // One of them reads its tables anew in each call.
        here.forgets = true
    }

    private func exchange() throws {
        try here.pass(to: there)
        try there.pass(to: here)
    }

    @Test(arguments: [ProtectionClass.whenUnlocked, .afterFirstUnlock, .always])
    func `Items of one come to the other`(_ protectionClass: ProtectionClass) throws {
        try here.set("a", "one", as: protectionClass)
        try exchange()
        #expect(try there.value("a") == "one")
        try there.set("a", "two", as: protectionClass)
        try exchange()
        #expect(try here.value("a") == "two")
        #expect(try here.replaced == ["one"])
        #expect(try there.replaced.isEmpty)
        #expect(try here.conflicts.isEmpty)
    }

    @Test func `Attributes travel with an item`() throws {
        try here.set("a", "one")
        try here.change("a", ItemChanges(attributes: [.label: .text("label")]))
        try exchange()
        try there.change("a", ItemChanges(attributes: [.comment: .text("comment")]))
        try exchange()
        let query = ItemQuery(
            .genericPassword,
            attributes: [.label: .text("label"), .comment: .text("comment")], synchronizable: .any)
        for device in [here, there] {
            #expect(try device.value(query) == "one")
        }
    }

    // Promise: 22.2
    @Test func `An entry travels with its fields, and comes back with them`() throws {
        try here.set("a", "one")
        try here.setField("a", "pin", "1")
        try exchange()
        #expect(try there.value("a") == "one" && there.field("a", "pin") == "1")
        try there.set("a", "two")
        try exchange()
        #expect(try here.value("a") == "two" && here.field("a", "pin") == "1")
        try here.setField("a", "pin", "2")
        try exchange()
        #expect(try there.field("a", "pin") == "2")
        try here.undo("a")
        try exchange()
        #expect(try there.field("a", "pin") == "1")
    }

    // Promise: 22.2
    @Test func `Two fields that differ are a conflict, and taking it takes the whole entry`() throws
    {
        try here.set("a", "one")
        try exchange()
        try here.setField("a", "pin", "1")
        try there.setField("a", "pin", "2")
        try exchange()
        try exchange()
        let conflict = try #require(try here.conflicts.first)
        let content = try #require(conflict.content)
        let other = try #require(try content.itemValue)
        let shown = try here.field("a", "pin")
        #expect(other.value.text == "one" && other.fields["pin"]?.value.text != shown)
        try here.update { try $0.take(conflict.id) }
        try exchange()
        #expect(try here.field("a", "pin") == other.fields["pin"]?.value.text)
        #expect(try there.field("a", "pin") == here.field("a", "pin"))
        #expect(try there.conflicts.isEmpty)
    }

    @Test func `Deleting an item deletes it there, also the newest one`() throws {
        try here.set("a", "one")
        try here.set("b", "two")
        try exchange()
        try here.delete("b")
        try exchange()
        #expect(try there.value("b") == nil)
        #expect(try there.value("a") == "one")
        #expect(try there.replaced == ["two"])
        try here.set("c", "three")
        try exchange()
        #expect(try there.value("c") == "three")
    }

    @Test func `Numbers of deleted items are given up, and no others`() throws {
        try here.set("kept", "one")
        try here.set("gone", "two")
        try exchange()
        try here.set("changed", "three")
        try there.delete("gone")
        let numbers = try there.update { try $0.tables.items(after: 0, count: 100) }
        #expect(try there.update { try $0.forgetUnusedNumbers(after: 0) } == nil)
        // Its deletion is pending, and names the item.
        #expect(try there.update { try $0.tables.items(after: 0, count: 100) } == numbers)
        try exchange()
        try there.update { _ = try $0.forgetUnusedNumbers(after: 0) }
        #expect(try there.update { try $0.tables.items(after: 0, count: 100).count } == 2)
        // The deleted value is a former one here, and names no number.
        #expect(try here.replaced == ["two"])
        try here.update { _ = try $0.forgetUnusedNumbers(after: 0) }
        #expect(try here.update { try $0.tables.items(after: 0, count: 100).count } == 2)
        try here.set("gone", "four")
        try exchange()
        #expect(try there.value("gone") == "four")
        #expect(try there.value("kept") == "one")
        #expect(try there.value("changed") == "three")
    }

    @Test func `Renaming an item renames it there`() throws {
        try here.set("a", "one")
        try exchange()
        try here.change("a", ItemChanges(attributes: [.account: .text("b")]))
        try exchange()
        #expect(try there.value("a") == nil)
        #expect(try there.value("b") == "one")
    }

    @Test func `A class change reaches the other keychain`() throws {
        try here.set("a", "one", as: .afterFirstUnlock)
        try exchange()
        try here.change("a", ItemChanges(protectionClass: .whenUnlocked))
        try exchange()
        #expect(try there.value("a") == "one")
        try there.change("a", ItemChanges(protectionClass: .afterFirstUnlock))
        try exchange()
        try exchange()
        #expect(try here.value("a") == "one")
        #expect(try here.conflicts.isEmpty)
    }

    @Test func `An item that stops to travel stays here and goes there`() throws {
        try here.set("a", "one")
        try exchange()
        try here.change("a", ItemChanges(protectionClass: .afterFirstUnlockThisDeviceOnly))
        try exchange()
        #expect(try here.value("a") == "one")
        #expect(try there.value("a") == nil)
        try there.set("a", "two")
        try exchange()
        #expect(try here.value("a") == "one")
    }

    @Test func `Writes of both are a conflict, which either one settles`() throws {
        try here.set("a", "base")
        try exchange()
        try here.set("a", "here")
        try there.set("a", "there")
        try here.sendAll()
        try there.sendAll()
        try exchange()
        #expect(try here.value("a") == there.value("a"))
        for device in [here, there] {
            let values = try [device.value("a")] + device.conflicts.map(\.text)
            #expect(Set(values.compactMap(\.self)) == ["here", "there"])
        }
        let conflict = try #require(try here.conflicts.first)
        let shown = try here.value("a")
        try here.update { try $0.take(conflict.id) }
        #expect(try here.replaced.first == shown)
        try exchange()
        #expect(try there.value("a") == conflict.text)
        #expect(try here.conflicts.isEmpty)
        #expect(try there.conflicts.isEmpty)
    }

    @Test func `A dropped conflict goes everywhere`() throws {
        try here.set("a", "here")
        try there.set("a", "there")
        try exchange()
        try exchange()
        let shown = try here.value("a")
        let conflict = try #require(try there.conflicts.first)
        try there.update { try $0.drop(conflict.id) }
        try exchange()
        try exchange()
        for device in [here, there] {
            #expect(try device.conflicts.isEmpty)
            #expect(try device.value("a") == shown)
        }
    }

    @Test func `A replaced value can be taken back, and reaches the other device`() throws {
        try here.set("a", "one")
        try exchange()
        try there.set("a", "two")
        try exchange()
        #expect(try here.replaced == ["one"])
        try here.undo("a")
        try exchange()
        #expect(try there.value("a") == "one")
        #expect(try here.replaced.isEmpty && there.replaced == ["two"])
    }

    @Test func `The newest replaced values are kept, and the oldest`() throws {
        try here.set("a", "first")
        try exchange()
        for number in 0..<6 {
            try there.set("a", "\(number)")
            try exchange()
        }
        #expect(try here.replaced == ["4", "3", "2", "first"])
    }

    @Test func `A replaced value follows its item to a stronger class`() throws {
        try here.set("a", "one")
        try exchange()
        try there.set("a", "two")
        try exchange()
        try here.change("a", ItemChanges(protectionClass: .whenUnlocked))
        let former = try here.store.formerItems([TestDevice.query("a")], for: TestDevice.caller)
        #expect(former.compactMap(\.item?.protectionClass) == [.whenUnlocked])
    }

    @Test func `A pending write that is not shown is sent all the same`() throws {
        try here.set("a", "base")
        try exchange()
        try here.set("a", "here")
        try here.update { _ in }
        try there.set("a", "there")
        try there.pass(to: here)
        try here.pass(to: there)
        try exchange()
        for device in [here, there] {
            let values = try [device.value("a")] + device.conflicts.map(\.text)
            #expect(Set(values.compactMap(\.self)) == ["here", "there"])
        }
    }

    @Test func `A base brings everything to a new device`() throws {
        for number in 0..<20 { try here.set("\(number)", "value \(number)") }
        try here.set("u", "unlocked", as: .whenUnlocked)
        try exchange()
        try there.set("3", "other")
        try here.set("3", "conflict")
        try here.sendAll()
        try exchange()
        let new = try TestDevice()
        for scope in KeyScope.allCases { try new.receive(try here.base(scope), slices: 3) }
        for number in 0..<20 where number != 3 {
            #expect(try new.value("\(number)") == "value \(number)")
        }
        #expect(try new.value("u") == "unlocked")
        #expect(try new.value("3") == here.value("3"))
        #expect(try new.conflicts.map(\.text) == here.conflicts.map(\.text))
    }

    @Test func `A joiner keeps what the circle lacks, and sends it when told to`() throws {
        try here.set("same", "same")
        try here.set("other", "here")
        try exchange()
        let joiner = try TestDevice(sendsItems: nil)
        try joiner.set("other", "mine")
        try joiner.set("lacking", "mine")
        try joiner.join(sendsItems: false)
        try here.pass(to: joiner)
        #expect(try joiner.value("same") == "same")
        #expect(try joiner.value("other") == "here")
        #expect(try joiner.replaced == ["mine"])
        #expect(try joiner.value("lacking") == "mine")
        #expect(try joiner.update { $0.replica?.unsent.count ?? 0 } == 1)
        try joiner.pass(to: here)
        #expect(try here.value("lacking") == nil)
        try joiner.update { try $0.sendUnsent() }
        try joiner.pass(to: here)
        #expect(try here.value("lacking") == "mine")
        #expect(try joiner.update { $0.replica?.unsent.count ?? 0 } == 0)
    }

    @Test func `A new circle has what lived in the old one`() throws {
        try here.set("a", "one")
        try here.set("u", "two", as: .whenUnlocked)
        try here.set("c", "here")
        try there.set("c", "there")
        try exchange()
        try exchange()
        try here.update { try $0.move(to: self.here.newLog(), self.here.newLog()) }
        let new = try TestDevice()
        try here.sendAll()
        for scope in KeyScope.allCases {
            let base = try here.base(scope)
            try new.receive(base)
        }
        #expect(try new.value("a") == "one")
        #expect(try new.value("u") == "two")
        #expect(try new.conflicts.count == 1)
        #expect(try here.conflicts.count == 1)
    }

    @Test func `A circle after another one gets all items`() throws {
        for number in 0..<5 { try here.set("\(number)", "value") }
        try exchange()
        _ = try there.update { try $0.end() }
        try there.join(sendsItems: true)
        try there.sendAll()
        #expect(try there.update { $0.replica?[.afterFirstUnlock].live.count } == 5)
    }

    // Promise: 19.14
    @Test func `The end of a replica makes former values of conflicts`() throws {
        try makeConflict()
        for device in [here, there] {
            let lost = try #require(try device.conflicts.first?.text)
            // Whatever the setting says.
            let settings = Caller(
                applicationIdentifier: "app", accessGroups: [AccessGroup("valet.settings")])
            try device.store.set(
                Addition(KeychainSetting.history.item, value: .text("0")), for: settings)
            #expect(try device.update { try $0.end() } == UnshownValues(kept: 1))
            #expect(try device.replaced == [lost])
        }
    }

    @Test func `A conflict that is shown by now is not dropped`() throws {
        try makeConflict()
        let conflict = try #require(try here.conflicts.first)
        try here.update { try $0.take(conflict.id) }
        try exchange()
        let (key, shown) = try #require(
            try here.view { try $0.replica?.shownItems.first { $0.value.source != .row } })
        let failure = #expect(throws: KeychainFailure.self) {
            try here.update {
                try $0.drop(Conflict.ID(key: key, scope: shown.scope, source: shown.source))
            }
        }
        #expect(failure?.code == .itemNotFound)
    }

    // Promise: 19.14
    @Test func `A former circle's conflicts become former values in the next one`() throws {
        try makeConflict()
        let lost = try #require(try here.conflicts.first?.text)
        #expect(try here.update { try $0.end().kept } == 1)
        try here.join(sendsItems: true)
        #expect(try here.conflicts.isEmpty)
        #expect(try here.replaced == [lost])
    }

    // Promise: 19.14
    @Test func `A value that was set aside before it was sent becomes a former one`() throws {
        try setAside()
        #expect(try there.update { try $0.end() } == UnshownValues(kept: 1))
        #expect(try there.replaced == ["unsent"])
    }

    // Promise: 19.14
    @Test func `A value that cannot be read keeps the circle`() throws {
        try setAside()
        try there.tamper("UPDATE sync_entry SET secret = randomblob(72) WHERE kind = 8")
        let failure = #expect(throws: KeychainFailure.self) { try there.update { try $0.end() } }
        #expect(failure?.code == .damaged)
        #expect(failure?.hint?.contains("leave --here --skip-damaged") == true)
        #expect(try there.view { try $0.replica } != nil)
        let values = try there.update { try $0.end(losingUnreadable: true) }
        #expect(values == UnshownValues(unreadable: 1))
        #expect(try there.view { try $0.replica } == nil)
    }

    // Promise: 19.14
    @Test func `A backup says how many conflicts it leaves out`() throws {
        #expect(try here.backUp().unshownCount == 0)
        try makeConflict()
        #expect(try here.backUp().unshownCount == 1)
        try here.set("c", "settled")
        #expect(try here.backUp().unshownCount == 1)
        try here.update { _ in }
        #expect(try here.backUp().unshownCount == 0)
    }

    private func makeConflict() throws {
        try here.set("c", "first")
        try exchange()
        try here.set("c", "here")
        try there.set("c", "there")
        try exchange()
        try exchange()
        #expect(try here.conflicts.count == 1)
    }

    /// `there` shows what `here` has written after it.
    private func setAside() throws {
        try here.set("c", "first")
        try exchange()
        try there.set("c", "unsent")
        try there.update { _ in }
        // The second change is later, also if the clock has not moved meanwhile.
        for value in ["new", "newer"] { try here.set("c", value) }
        try here.pass(to: there)
        #expect(try there.value("c") == "newer")
    }

    @Test func `An update that fails changes nothing`() throws {
        try here.set("a", "one")
        struct Stopped: Error {}
        #expect(throws: KeychainFailure.self) {
            try self.here.update { update in
                _ = try update.draftBatch(in: .afterFirstUnlock)
                try update.set(NoteName("note"), [1])
                try update.end()
                throw Stopped()
            }
        }
        #expect(try here.view { try $0[NoteName("note")] } == nil)
        try exchange()
        #expect(try there.value("a") == "one")
    }

    @Test func `Notes are kept until they are deleted`() throws {
        try here.update { try $0.set(NoteName("a"), [1, 2, 3]) }
        here.restart()
        #expect(try here.update { try $0[NoteName("a")] } == [1, 2, 3])
        try here.update { try $0.set(NoteName("b"), [4]) }
        _ = try here.update { try $0.end() }
        #expect(try here.view { try $0[NoteName("a")] } == nil)
        #expect(try here.view { try $0[NoteName("b")] } == nil)
        #expect(try here.view { try $0.replica } == nil)
    }
}
