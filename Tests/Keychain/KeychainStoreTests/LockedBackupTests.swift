// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/decisions/0018, 0019: half a backup of a locked keychain would be taken for one.
@Suite struct `Backup and restore of a keychain that is locked` {
    let epochs = EpochStore()
    let file = BackupPath()
    let passcode: Passcode

    init() throws {
        passcode = try EpochStore.passcode("the passcode")
        try epochs.store.keychain.setPasscode(passcode)
    }

    struct Cell: CustomStringConvertible {
        let protectionClass: ProtectionClass
        let isAfterFirstUnlock: Bool

        var description: String {
            "\(protectionClass), \(isAfterFirstUnlock ? "locked" : "before the first unlock")"
        }
    }

    static let cells = ProtectionClass.allCases.flatMap { protectionClass in
        [true, false].map { Cell(protectionClass: protectionClass, isAfterFirstUnlock: $0) }
    }

    private func lock(_ cell: Cell) throws {
        try epochs.store.keychain.lock(all: !cell.isAfterFirstUnlock)
    }

    @Test(arguments: cells)
    func `Backup and restore of a locked keychain are refused whatever the class of its items`(
        _ cell: Cell
    ) throws {
        try epochs.add("a", as: cell.protectionClass)
        try epochs.keychain.backUp(to: file)
        let before = try file.bytes
        let seals = try epochs.keychain.seals()
        try lock(cell)
        let backUp = epochs.code { try epochs.keychain.backUp(to: file, replacing: true) }
        #expect(backUp == .locked)
        #expect(try file.bytes == before)
        for isDryRun in [true, false] {
            let restore = epochs.code {
                try epochs.keychain.restore(file, .replace, isDryRun: isDryRun)
            }
            #expect(restore == .locked, "\(isDryRun)")
        }
        #expect(try epochs.keychain.seals() == seals)
        try epochs.store.keychain.unlock(passcode)
        try epochs.keychain.backUp(to: file, replacing: true)
        try epochs.keychain.restore(file, .replace)
        #expect(try epochs.value("a") == "value of a")
    }

    @Test(arguments: [RestorePolicy.keepNewer, .skipExisting], [true, false])
    func `Backup and restore of a locked keychain are refused in every mode`(
        _ policy: RestorePolicy, _ isDryRun: Bool
    ) throws {
        try epochs.add("a")
        try epochs.keychain.backUp(to: file)
        try epochs.store.keychain.lock()
        let restore = epochs.code { try epochs.keychain.restore(file, policy, isDryRun: isDryRun) }
        #expect(restore == .locked)
    }

    @Test func `A restore into a locked keychain reads what it needs of the file`() throws {
        try epochs.add("a")
        try epochs.keychain.backUp(to: file)
        try epochs.store.keychain.lock(all: true)
        let backup = try epochs.keychain.open(file)
        #expect(try backup.verify().itemCount == 1)
        #expect(try backup.items().count == 1)
    }
}
