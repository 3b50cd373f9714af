// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/decisions/0018, 0019: half a backup of a locked keychain would be taken for one.
@Suite struct `Backup and restore of a keychain that is locked` {
    let keychain = TestKeychain()
    let file = BackupPath()
    let passcode: Passcode

    init() throws {
        passcode = try TestKeychain.passcode("the passcode")
        try keychain.store.keychain.setPasscode(passcode)
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
        try keychain.store.keychain.lock(all: !cell.isAfterFirstUnlock)
    }

    @Test(arguments: cells)
    func `Backup and restore of a locked keychain are refused whatever the class of its items`(
        _ cell: Cell
    ) throws {
        try keychain.add("a", as: cell.protectionClass)
        try keychain.backUp(to: file)
        let before = try file.bytes
        let seals = try keychain.seals()
        try lock(cell)
        let backUp = failure { try keychain.backUp(to: file, replacing: true) }
        #expect(backUp == .locked)
        #expect(try file.bytes == before)
        for isDryRun in [true, false] {
            let restore = failure {
                try keychain.restore(file, .replace, isDryRun: isDryRun)
            }
            #expect(restore == .locked, "\(isDryRun)")
        }
        #expect(try keychain.seals() == seals)
        try keychain.store.keychain.unlock(passcode)
        try keychain.backUp(to: file, replacing: true)
        try keychain.restore(file, .replace)
        #expect(try keychain.value("a") == "value of a")
    }

    @Test(arguments: [RestorePolicy.keepNewer, .skipExisting], [true, false])
    func `Backup and restore of a locked keychain are refused in every mode`(
        _ policy: RestorePolicy, _ isDryRun: Bool
    ) throws {
        try keychain.add("a")
        try keychain.backUp(to: file)
        try keychain.store.keychain.lock()
        let restore = failure { try keychain.restore(file, policy, isDryRun: isDryRun) }
        #expect(restore == .locked)
    }

    @Test func `A restore into a locked keychain reads what it needs of the file`() throws {
        try keychain.add("a")
        try keychain.backUp(to: file)
        try keychain.store.keychain.lock(all: true)
        let backup = try keychain.open(file)
        #expect(try backup.verify().itemCount == 1)
        #expect(try backup.items().count == 1)
    }
}
