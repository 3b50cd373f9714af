// SPDX-License-Identifier: Apache-2.0

package import ValetDatabase
package import ValetSystem

/// The tables of version 1: docs/FORMAT.md §5.1, §7, §8.
package enum Schema {
    /// The statements that make an empty keychain. SQLite keeps their exact text, and a database
    /// whose text differs is not opened.
    package static let statements: [StaticString] = [
        keychain, keybag, place, placeByHash, placeByGroup, item, byPlace, byAccount, byChange,
        attribute, former, formerByName, formerByNumber, syncMark, syncItem, syncItemByKey,
        syncEntry, syncEntryByID,
    ]

    private static let keychain: StaticString = """
        CREATE TABLE keychain (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            stamp INTEGER NOT NULL,
            format INTEGER NOT NULL,
            min_reader INTEGER NOT NULL,
            min_writer INTEGER NOT NULL,
            features INTEGER NOT NULL,
            keychain_id BLOB NOT NULL CHECK (length(keychain_id) = 16),
            epoch INTEGER NOT NULL
        ) STRICT
        """

    private static let keybag: StaticString = """
        CREATE TABLE keybag (
            epoch INTEGER PRIMARY KEY,
            bytes BLOB NOT NULL
        ) STRICT
        """

    /// The primary keys of all items without their accounts. A negative id says that its group has
    /// many places.
    private static let place: StaticString = """
        CREATE TABLE place (
            id INTEGER PRIMARY KEY,
            group_hash BLOB NOT NULL,
            service_hash BLOB NOT NULL,
            place_hash BLOB NOT NULL
        ) STRICT
        """

    private static let placeByHash: StaticString = """
        CREATE UNIQUE INDEX place_by_hash ON place (group_hash, service_hash, place_hash)
        """

    private static let placeByGroup: StaticString = """
        CREATE INDEX place_by_group ON place (group_hash) WHERE id > 0
        """

    private static let item: StaticString = """
        CREATE TABLE item (
            number INTEGER PRIMARY KEY,
            salt INTEGER NOT NULL,
            version INTEGER NOT NULL,
            class INTEGER NOT NULL,
            protection INTEGER NOT NULL,
            flags INTEGER NOT NULL,
            epoch INTEGER NOT NULL,
            place INTEGER NOT NULL,
            account_hash BLOB NOT NULL,
            nonce BLOB NOT NULL,
            names BLOB NOT NULL,
            secret BLOB,
            hashes BLOB,
            change_number INTEGER,
            logical_time INTEGER NOT NULL
        ) STRICT
        """

    /// Finds all items of a place, and the item of one account there. One index serves both: each
    /// index costs a page in every commit that adds an item.
    private static let byPlace: StaticString = """
        CREATE UNIQUE INDEX item_by_place ON item (place, account_hash)
        """

    /// Finds items by account in places with negative ids, which are too many to search each.
    private static let byAccount: StaticString = """
        CREATE INDEX item_by_account ON item (account_hash) WHERE place < 0
        """

    private static let byChange: StaticString = """
        CREATE INDEX item_by_change ON item (change_number) WHERE change_number IS NOT NULL
        """

    private static let attribute: StaticString = """
        CREATE TABLE attribute (
            hash BLOB NOT NULL,
            number INTEGER NOT NULL,
            PRIMARY KEY (hash, number)
        ) STRICT, WITHOUT ROWID
        """

    private static let former: StaticString = """
        CREATE TABLE former (
            number INTEGER NOT NULL,
            salt INTEGER NOT NULL,
            version INTEGER NOT NULL,
            class INTEGER NOT NULL,
            protection INTEGER NOT NULL,
            flags INTEGER NOT NULL,
            epoch INTEGER NOT NULL,
            place INTEGER NOT NULL,
            account_hash BLOB NOT NULL,
            nonce BLOB NOT NULL,
            names BLOB NOT NULL,
            secret BLOB,
            hashes BLOB,
            change_number INTEGER,
            logical_time INTEGER NOT NULL,
            group_hash BLOB,
            service_hash BLOB,
            place_hash BLOB,
            kept INTEGER PRIMARY KEY,
            reason INTEGER NOT NULL,
            seal BLOB
        ) STRICT
        """

    private static let formerByName: StaticString = """
        CREATE INDEX former_by_name ON former (account_hash, place_hash)
        """

    /// Keeps the numbers of former rows from being given again.
    private static let formerByNumber: StaticString = """
        CREATE INDEX former_by_number ON former (number)
        """

    /// The change number up to which local changes were collected, and the stamp of the tables of
    /// sync.
    private static let syncMark: StaticString = """
        CREATE TABLE sync_mark (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            mark INTEGER NOT NULL,
            stamp INTEGER NOT NULL
        ) STRICT
        """

    /// The numbers of items, which stay the same when a new key changes the hashes.
    private static let syncItem: StaticString = """
        CREATE TABLE sync_item (
            id INTEGER PRIMARY KEY,
            group_hash BLOB NOT NULL,
            service_hash BLOB NOT NULL,
            place_hash BLOB NOT NULL,
            account_hash BLOB NOT NULL
        ) STRICT
        """

    private static let syncItemByKey: StaticString = """
        CREATE UNIQUE INDEX sync_item_by_key ON sync_item (place_hash, account_hash)
        """

    private static let syncEntry: StaticString = """
        CREATE TABLE sync_entry (
            number INTEGER PRIMARY KEY,
            kind INTEGER NOT NULL,
            id BLOB NOT NULL,
            item INTEGER NOT NULL,
            protection INTEGER NOT NULL,
            epoch INTEGER NOT NULL,
            facts BLOB NOT NULL,
            secret BLOB
        ) STRICT
        """

    private static let syncEntryByID: StaticString = """
        CREATE UNIQUE INDEX sync_entry_by_id ON sync_entry (kind, id)
        """

    /// The marks of the file's kind (docs/FORMAT.md §2), and the one row of `sync_mark`. PRAGMAs
    /// take no parameters.
    package static let marks: [StaticString] = [
        "PRAGMA application_id = 0x56414C54", "PRAGMA user_version = 1",
        "INSERT OR IGNORE INTO sync_mark VALUES (1, 0, 0)",
    ]

    /// The columns of `item`, in the order in which `SELECT *` gives them, and after them the
    /// columns of its place that statements select as well.
    package enum Column {
        /// The row's number.
        package static let number: Int32 = 0
        static let salt: Int32 = 1
        static let version: Int32 = 2
        static let itemClass: Int32 = 3
        static let protection: Int32 = 4
        /// The flags: docs/FORMAT.md §5.
        package static let flags: Int32 = 5
        static let epoch: Int32 = 6
        /// The id of the row's place.
        package static let place: Int32 = 7
        /// The hash of the account.
        package static let accountHash: Int32 = 8
        static let nonce: Int32 = 9
        static let names: Int32 = 10
        static let secret: Int32 = 11
        /// The row's other hashes.
        package static let hashes: Int32 = 12
        static let changeNumber: Int32 = 13
        /// Rises with every write of the row.
        package static let logicalTime: Int32 = 14
        static let groupHash: Int32 = 15
        static let serviceHash: Int32 = 16
        static let placeHash: Int32 = 17
        // The other columns of `former`, which begins with those above.
        static let kept: Int32 = 18
        static let reason: Int32 = 19
        static let seal: Int32 = 20
    }

    /// Refuses a database whose tables differ from those of this version.
    package static func check(_ connection: Connection) throws(SystemError) {
        let expected = statements.map { $0.description }.sorted()
        guard try connection.schema() == expected else {
            throw SystemError(
                .schemaMismatch, during: "open the database", path: connection.path)
        }
    }
}
