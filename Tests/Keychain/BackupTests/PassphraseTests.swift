// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetKeychainStore

@Suite struct `The passphrase of a backup` {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    // Promise: 10.1
    @Test(arguments: ["Open sesame", "open sesam", "open sesame ", "open sesame\u{0}", "x"])
    func `The passphrase of a backup is not another one`(_ other: String) throws {
        try TestBackup.write([.sample("a")], to: folder.backup)
        let locked = try LockedBackup(folder.backup, costs: .any)
        let error = #expect(throws: KeychainFailure.self) {
            _ = try locked.unlock(with: TestBackup.secret(other))
        }
        #expect(error?.fault == .wrongPassphrase)
        #expect(error?.path == folder.backup)
        #expect(error?.hint != nil)
        #expect(try locked.unlock(with: TestBackup.secret()).verify().itemCount == 1)
    }

    @Test func `The passphrase of a backup is never empty`() throws {
        let nothing = SecretBytes(byteCount: 0)
        let writing = #expect(throws: KeychainFailure.self) {
            _ = try BackupWriter(
                to: folder.backup, origin: TestBackup.origin(), passphrase: nothing,
                cost: TestBackup.cost)
        }
        #expect(writing?.fault == .emptyPassphrase)
        #expect(try folder.names() == [])
        try TestBackup.write([], to: folder.backup)
        let reading = #expect(throws: KeychainFailure.self) {
            _ = try LockedBackup(folder.backup, costs: .any).unlock(with: nothing)
        }
        #expect(reading?.fault == .emptyPassphrase)
    }

    @Test func `The passphrase of a backup may be of any bytes and length`() throws {
        for bytes in [[0], [255, 0, 10], [UInt8](repeating: 7, count: 5_000)] {
            let passphrase = SecretBytes(copying: bytes.span)
            let writer = try BackupWriter(
                to: folder.backup, replacing: true, origin: TestBackup.origin(),
                passphrase: passphrase, cost: TestBackup.cost)
            let written = try writer.finish()
            let locked = try LockedBackup(folder.backup, costs: .any)
            #expect(try locked.unlock(with: passphrase).verify() == written)
        }
    }

    @Test func `The passphrase of a backup costs what the format asks for`() throws {
        let cost = try Argon2Cost(memoryKiB: 64 << 10, passes: 3)
        var writer = try BackupWriter(
            to: folder.backup, origin: TestBackup.origin(), passphrase: TestBackup.secret(),
            cost: cost)
        try writer.append(.sample("a"))
        let written = try writer.finish()
        let locked = try LockedBackup(folder.backup)
        #expect(try locked.unlock(with: TestBackup.secret()).verify() == written)
    }

    @Test func `The passphrase of a backup is not asked for where a guess would be cheap`() throws {
        try TestBackup.write([], to: folder.backup)
        let error = #expect(throws: KeychainFailure.self) { try LockedBackup(folder.backup) }
        #expect(error?.fault == .damaged)
        #expect(error?.place == "in the header")
    }
}
