// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetTPM
import ValetTPMSupport

@testable import ValetKeychainStore

/// docs/FORMAT.md §4.9: what is made before an epoch, and destroyed after one.
@Suite(.enabled(if: Swtpm.isThere, Swtpm.isMissing)) struct `What is left of erasure secrets` {
    private let bound: BoundStore

    init() throws {
        bound = try BoundStore()
        try bound.epochs.add("item")
    }

    private var store: ItemStore { bound.store }

    private func isWhole() throws -> Bool {
        try bound.forget()
        return try bound.epochs.value("item") == "value of item"
    }

    /// Prepares the next epoch, and hands it to `body` with what it follows.
    private func prepared(
        _ body: (Engine, KeychainFacts, borrowing EpochChange) throws -> Void
    ) throws {
        var thrown: (any Error)?
        try store.withEngine("test") { (engine) throws(KeychainFailure) in
            let facts = try engine.readFacts("test", .never)
            let opener = KeychainOpener.protector(
                try engine.protector(of: facts, nil, "test", .seconds(20)))
            let change = try engine.change(
                facts, opener, to: NextEpoch(passcode: nil, stretching: .lowest), "test")
            do { try body(engine, facts, change) } catch { thrown = error }
        }
        if let thrown { throw thrown }
    }

    @Test func `is cleared away after a change that was broken off at any command`() throws {
        try bound.bindErasably()
        var changes = 0
        var number = 1
        while changes == 0, number < 200 {
            let first = number
            bound.answer { $0 >= first ? .hangUp : .pass }
            let code = bound.epochs.code { try store.rotateKeys(nil) }
            bound.answer { _ in .pass }
            changes += code == nil ? 1 : 0
            #expect(try isWhole(), "\(number)")
            number += number % 3 == 0 ? 5 : 1
        }
        #expect(changes == 1)
        try store.rotateKeys(nil)
        #expect(try bound.hasOneErasureSecret())
        #expect(store.strayDeviceKeys().isEmpty)
        #expect(try isWhole())
    }

    @Test func `is found by the next change, and by unbinding`() throws {
        try bound.bindErasably()
        // Killed before the transaction, twice.
        for count in 1...2 {
            try prepared { _, _, _ in }
            #expect(try bound.indices().count == 1 + count && bound.notes.count == 1 + count)
        }
        #expect(store.strayDeviceKeys().count == 2)
        try store.rotateKeys(nil)
        #expect(try bound.hasOneErasureSecret())
        try prepared { _, _, _ in }
        try store.rotateKeys(nil, movingDeviceKeyTo: .ownFile)
        #expect(try bound.indices().isEmpty && bound.notes.isEmpty)
        #expect(try isWhole())
    }

    @Test func `is found when a program was killed after the transaction`() throws {
        try bound.bindErasably()
        let first = try bound.indices()
        try prepared { engine, facts, change in
            let begun = try engine.begin(change, after: facts, "test", .never)
            #expect(begun.map(\.dispensable) != nil)
        }
        #expect(try isWhole())
        try bound.epochs.finishEpoch()
        #expect(try bound.indices().count == 2)
        #expect(store.strayDeviceKeys().count == 1)
        try store.rotateKeys(nil)
        #expect(try bound.hasOneErasureSecret() && bound.indices() != first)
        #expect(try isWhole())
    }

    @Test func `is never what somebody else is about to use`() throws {
        try bound.bindErasably()
        try prepared { engine, facts, change in
            // Another is quicker, and clears away what this one made.
            try store.rotateKeys(nil)
            #expect(try bound.hasOneErasureSecret())
            // So its change must not come: the keychain has changed.
            let begun = try engine.begin(change, after: facts, "test", .never)
            #expect(begun.map(\.dispensable) == nil)
            engine.discard(change, after: facts)
        }
        #expect(try bound.hasOneErasureSecret())
        // What is prepared after another's transaction is not among what that one destroys.
        var noted: BegunEpoch?
        try prepared { engine, facts, change in
            noted = try engine.begin(change, after: facts, "test", .never)
        }
        try bound.epochs.finishEpoch()
        try prepared { engine, facts, change in
            engine.destroyErasureSecrets(
                try #require(noted).dispensable, of: facts.settings.keychainID, nil,
                until: .never)
            #expect(try bound.indices().count == 2)
            let begun = try engine.begin(change, after: facts, "test", .never)
            #expect(begun.map(\.dispensable) != nil)
        }
        try bound.epochs.finishEpoch()
        #expect(try isWhole())
        try store.rotateKeys(nil)
        #expect(try bound.hasOneErasureSecret())
    }

    @Test func `is destroyed by its keychain alone`() throws {
        try bound.bindErasably()
        let index = try bound.indices()[0]
        let foreign: UInt32 = 0x0181_2345
        try RawTPM(bound.swtpm.socket).define(foreign)
        // What no index of ours can be called, and what somebody else's is.
        for name in ["erasure.01812345", "erasure.1812345", "erasure.01c00000", "erasure.x"] {
            let path = bound.epochs.keychain.folder + "/" + name
            #expect(
                FileManager.default.createFile(
                    atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]))
        }
        try store.rotateKeys(nil)
        let left = try bound.indices()
        #expect(left.contains(foreign) && !left.contains(index) && left.count == 2)
        #expect(!bound.notes.contains("erasure.01812345") && bound.notes.count == 4)
        #expect(try isWhole())
    }
}
