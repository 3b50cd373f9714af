// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `Locking a keychain whose files cannot be read` {
    enum Fault: CaseIterable {
        case mode, absence, damage

        var code: KeychainFailure.Code {
            switch self {
            case .mode: .insecureFiles
            case .absence: .incomplete
            case .damage: .keychainDamaged
            }
        }
    }

    private let epochs = TestKeychain()
    private let files = FileManager.default
    private var store: ItemStore { epochs.store }
    private var database: String { epochs.folder + "/keychain.db" }

    init() throws {
        try store.keychain.setPasscode(TestKeychain.passcode("the passcode"))
        try epochs.addItems([.whenUnlocked, .afterFirstUnlock])
    }

    private func fail(_ all: Bool = false) -> KeychainFailure? {
        do {
            try store.keychain.lock(all: all)
            return nil
        } catch {
            return error
        }
    }

    /// Moves a file or folder away while `body` runs.
    private func without(_ path: String, _ body: () throws -> Void) throws {
        try files.moveItem(atPath: path, toPath: path + ".away")
        try body()
        try files.moveItem(atPath: path + ".away", toPath: path)
    }

    private func with(_ fault: Fault, _ body: () throws -> Void) throws {
        switch fault {
        case .mode:
            try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: database)
            try body()
            try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: database)
        case .absence: try without(database, body)
        case .damage:
            let good = try Data(contentsOf: URL(fileURLWithPath: database))
            let file = try #require(FileHandle(forUpdatingAtPath: database))
            defer { try? file.close() }
            try file.write(contentsOf: Data(repeating: 7, count: good.count))
            try body()
            try file.seek(toOffset: 0)
            try file.write(contentsOf: good)
        }
    }

    @Test(arguments: Fault.allCases)
    func `Locking a keychain with unreadable files takes its keys away and says so`(_ fault: Fault)
        throws
    {
        // Nothing is remembered of it but what its device key says.
        store.close()
        try with(fault) {
            let failure = fail()
            #expect(failure?.code == fault.code)
            #expect(failure?.message.contains("its opened keys were removed") == true)
        }
        #expect(try epochs.lockState() == .locked)
        #expect(failure { _ = try epochs.value("whenUnlocked") } == .locked)
        #expect(try epochs.value("afterFirstUnlock") == "value of afterFirstUnlock")
    }

    @Test func `A full lock of a keychain with unreadable files takes all its keys away`() throws {
        store.close()
        try with(.mode) { #expect(fail(true)?.code == .insecureFiles) }
        #expect(try epochs.lockState() == .beforeFirstUnlock)
    }

    @Test func `Locking without database and device key uses what the process knows`() throws {
        #expect(try epochs.lockState() == .unlocked)
        try without(database) {
            try without(epochs.folder + "/device") {
                // Whether the files are in place is looked at ten times a second.
                Thread.sleep(forTimeInterval: 0.15)
                let failure = fail()
                // The log is left.
                #expect(failure?.code == .incomplete)
                #expect(failure?.message.contains("its opened keys were removed") == true)
            }
        }
        #expect(try epochs.lockState() == .locked)
    }

    @Test func `Locking a missing keychain is refused`() throws {
        let none = ItemStore(KeychainLocation(folder: epochs.folder + "/none"))
        let failure = #expect(throws: KeychainFailure.self) { try none.keychain.lock(all: true) }
        #expect(failure?.code == .itemNotFound)
        #expect(failure?.message.contains("were removed") == false)
        #expect(try epochs.lockState() == .unlocked)
    }

    /// Programs with keys of their own share no keys; they lock when the mark in the page changes.
    @Test(arguments: [false, true])
    func `Locking changes the mark even if no keys are shared`(_ all: Bool) throws {
        func marks() throws -> Data {
            let file = URL(fileURLWithPath: epochs.folder + "/keychain.lock")
            return try Data(contentsOf: file)[(all ? 16 : 32)..<48]
        }
        try store.keychain.lock(all: true)
        store.close()
        let before = try marks()
        try with(.damage) { #expect(fail(all)?.code == .keychainDamaged) }
        #expect(try marks() != before)
    }
}
