// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetKeychainModel
import ValetSealing
import ValetSystem
import ValetTestValues

@testable import ValetKeychainStore

/// Backups at a cost that tests can wait for.
enum TestBackup {
    static let headerByteCount = 236
    static let chunkByteCount = (64 << 10) + 17
    static let cost = Argon2Cost(uncheckedMemoryKiB: 8, passes: 1)
    static let passphrase = "open sesame"

    static func origin() throws -> BackupOrigin {
        BackupOrigin(keychainID: try KeychainID(Array(1...16)), milliseconds: 1_790_000_000_000)
    }

    static func secret(_ text: String = passphrase) -> SecretBytes {
        SecretBytes(copying: Array(text.utf8).span)
    }

    static func writer(_ path: String, replacing: Bool = false) throws -> BackupWriter {
        try BackupWriter(
            to: path, replacing: replacing, origin: origin(), passphrase: secret(), cost: cost)
    }

    @discardableResult
    static func write(_ items: [BackupItem], to path: String) throws -> BackupSummary {
        var writer = try writer(path)
        for item in items { try writer.append(item) }
        return try writer.finish()
    }

    static func open(_ path: String) throws -> BackupReader {
        try LockedBackup(path, costs: .any).unlock(with: secret())
    }

    /// Writes a file whose content is `content`, whatever that is, and zeros up to its end.
    static func write(content: [UInt8], to path: String) throws {
        let key = BackupKey.random()
        let sealer = StreamSealer(under: key)
        let preamble = BackupHeader.Preamble(
            origin: try origin(), salt: .random(), cost: cost)
        let stretched = try PassphraseKDF.stretch(secret(), salt: preamble.salt, cost: cost)
        let header = BackupHeader(
            preamble, key: key, kek: preamble.kek(from: stretched), stream: sealer.header)
        var chunks = try ChunkWriter(
            into: AtomicFile(at: path, replacing: true), sealer: sealer, header: header)
        try chunks.append(content.span)
        _ = try chunks.finish()
    }
}

extension KeychainFailure {
    /// What is wrong with the backup; nil for a failure of the system.
    var fault: BackupFault? {
        BackupFault.allCases.first {
            message == $0.rawValue || message.hasPrefix("\($0.rawValue), ")
        }
    }

    /// The place in the file, in words.
    var place: String? {
        guard let fault, message != fault.rawValue else { return nil }
        return String(message.dropFirst(fault.rawValue.count + 2))
    }
}

extension BackupWriter {
    /// What finishing throws.
    consuming func errorOfFinishing() -> KeychainFailure? {
        do throws(KeychainFailure) {
            _ = try finish()
            return nil
        } catch {
            return error
        }
    }
}

extension BackupReader {
    /// All items, and what is at the end.
    func all() throws -> (items: [BackupItem], summary: BackupSummary) {
        var reading = items()
        var items: [BackupItem] = []
        while let item = try reading.next() { items.append(item) }
        return (items, try reading.end())
    }
}

extension BackupItem {
    /// A generic password of the class `whenUnlocked`, for an account.
    static func sample(
        _ account: String, value: [UInt8]? = [1, 2, 3]
    ) throws -> BackupItem {
        try BackupItem(
            NewItem(
                .genericPassword, attributes: [.account: .text(account), .service: .text("s")],
                accessGroup: AccessGroup("com.example.app")),
            logicalTime: 7, value: value.map { SecretValue(copying: $0.span) })
    }

    /// The whole record; what two equal items share.
    var record: [UInt8] {
        guard let value else { return recordStart }
        return recordStart + value.withBytes { bytes in bytes.indices.map { bytes[$0] } }
    }
}

extension TestFolder {
    private static let backup = "keys.backup"

    /// Where a test puts its backup.
    var backup: String { path(Self.backup) }

    func read() throws -> [UInt8] { try read(Self.backup) }

    /// Writes a backup that others may read, as a copied file is.
    func write(_ bytes: [UInt8]) throws { try write(bytes, to: Self.backup, mode: 0o644) }

    func mode() -> mode_t? { mode(Self.backup) }
}
