// SPDX-License-Identifier: Apache-2.0

internal import ValetBackup
package import ValetKeychainModel
internal import ValetSealing
package import ValetSecretMemory

/// A backup file that is open, and whose passphrase has not been given yet.
package struct BackupFile: Sendable {
    private static let opening = "open the backup"

    private let locked: LockedBackup

    /// Reads the head of the file at `path`.
    ///
    /// - Parameter store: Whose own files are refused: closing one would drop locks.
    /// - Throws: ``KeychainFailure``: `damaged` for what is damaged, truncated or no backup;
    ///   `newerFormat`; `inputOutput`; `invalidRequest`.
    package init(at path: String, besides store: ItemStore) throws(KeychainFailure) {
        try store.location.refuseOwnFile(path, during: Self.opening)
        locked = try translating(Self.opening) { try LockedBackup(path) }
    }

    /// Opens the backup; takes a quarter of a second or so, and up to 1 GiB of memory.
    ///
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a wrong passphrase, `damaged`,
    ///   `invalidRequest` for an empty one, `outOfMemory`.
    package func open(
        with passphrase: borrowing SecretBytes
    ) throws(KeychainFailure) -> OpenedBackup {
        do throws(BackupError) {
            return OpenedBackup(try locked.unlock(with: passphrase))
        } catch {
            throw KeychainFailure(error, during: Self.opening)
        }
    }
}

/// A backup file that its passphrase has opened.
package struct OpenedBackup: Sendable {
    private static let reading = "read the backup"

    let reader: BackupReader

    init(_ reader: BackupReader) {
        self.reader = reader
    }

    /// 32 hexadecimal digits that name the keychain it was made from.
    package var keychainID: String { reader.origin.keychainID.description }

    /// When it was made, in seconds since 2001-01-01 00:00 UTC.
    package var date: Double { Double(reader.origin.milliseconds) / 1000 - 978_307_200 }

    /// Reads the file to its end.
    ///
    /// - Returns: How many items it has.
    /// - Throws: ``KeychainFailure``: `damaged`, `inputOutput`.
    package func verify() throws(KeychainFailure) -> Int {
        try translating(Self.reading) { Int(clamping: try reader.verify().itemCount) }
    }

    /// Reads the file to its end and gives all items without their values, in its order.
    ///
    /// - Throws: As ``verify()``; what was given until then is not to be relied on.
    package func forEachItem(_ body: (BackedUpItem) -> Void) throws(KeychainFailure) {
        try translating(Self.reading) {
            var reading = reader.items()
            while let item = try reading.next() {
                body(
                    BackedUpItem(
                        properties: item.properties, accessGroup: item.accessGroup,
                        valueByteCount: item.value?.byteCount))
            }
            _ = try reading.end()
        }
    }
}

/// An item in a backup, without its value.
package struct BackedUpItem: Sendable {
    /// Class, attributes with both dates, synchronizable flag and protection class.
    package let properties: NewItem
    /// The group that the item is in.
    package let accessGroup: AccessGroup
    /// The value's size in bytes; nil for an item without a value.
    package let valueByteCount: Int?
}
