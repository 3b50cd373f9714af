// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetKeychainStore

@Suite struct `A backup that another program wrote` {
    @Test(arguments: try Vector.backup("file"))
    func `A backup that another program wrote is opened and read`(_ vector: Vector) throws {
        let folder = try TestFolder()
        try folder.write(vector.bytes(base64: "base64"))
        let passphrase = try TestBackup.secret(
            String(decoding: vector.bytes("passphrase"), as: UTF8.self))
        try vector.check {
            let locked = try LockedBackup(folder.backup, costs: .any)
            #expect(try locked.origin.keychainID.bytes == vector.bytes("keychain"))
            #expect(try locked.origin.milliseconds == vector.number("milliseconds"))
            let reader = try locked.unlock(with: passphrase)
            let (items, summary) = try reader.all()
            let digests = items.map { Digest(of: $0.record.span).bytes }
            #expect(try digests == vector.list("record_digest"))
            #expect(summary.itemCount == UInt64(items.count))
            #expect(try folder.read().suffix(16) == summary.ending[...])
            let first = try #require(items.first)
            #expect(first.properties.attributes[.account] == .text("Zoë 🗝"))
            #expect(first.properties.attributes[.creationDate] == .date(0.5))
            #expect(first.properties.attributes[.creator] == .number(-1))
            #expect(first.accessGroup == AccessGroup("com.example.app"))
            #expect(first.logicalTime == -5)
            #expect(first.properties.isSynchronizable)
        }
    }

    @Test(arguments: try Vector.backup("header"))
    func `A backup that another program wrote has the header that the format asks for`(
        _ vector: Vector
    ) throws {
        let bytes = try vector.bytes("header")
        try vector.check {
            let header = try BackupHeader(parsing: bytes, path: "-", costs: .format)
            #expect(header.bytes == bytes)
            #expect(try header.origin.keychainID.bytes == vector.bytes("keychain"))
            #expect(try header.origin.milliseconds == vector.number("milliseconds"))
            #expect(try header.salt.bytes == vector.bytes("salt"))
        }
    }

    @Test(arguments: try Vector.backup("content"))
    func `A backup that another program wrote has the content that the format asks for`(
        _ vector: Vector
    ) throws {
        let folder = try TestFolder()
        let content = try vector.bytes("content")
        try TestBackup.write(content: content, to: folder.backup)
        let reader = try TestBackup.open(folder.backup)
        try vector.check {
            let (items, summary) = try reader.all()
            #expect(try summary.itemCount == vector.number("records"))
            #expect(content.starts(with: items.flatMap(\.record)))
        }
    }
}

extension Vector {
    /// All vectors of one operation of this module, which are at least one.
    static func backup(_ operation: String) throws -> [Vector] {
        try all("backup", operation)
    }

    /// Runs `body`, which must do what the file says: end well, or throw such a code.
    func check(_ body: () throws -> Void) throws {
        try check({ (error: KeychainFailure) in error.outcome }, body)
    }
}

extension KeychainFailure {
    fileprivate var outcome: Vector.Outcome? {
        switch fault {
        case .wrongPassphrase: .wrongSecret
        case .damaged: .tampered
        case .notABackup, .truncated: .malformed
        case .newer: .unsupported
        default: nil
        }
    }
}
