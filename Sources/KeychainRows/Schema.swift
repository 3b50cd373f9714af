// SPDX-License-Identifier: Apache-2.0

package import ValetDatabase
package import ValetSystem

/// The tables of version 1: docs/FORMAT.md §5.1, §7.
package enum Schema {
    /// The statements that make an empty keychain; the database keeps their text to the letter,
    /// and one whose text differs is not opened.
    package static let statements: [StaticString] = [
        keychain, keybag, item, byPlace, byAccount, byChange, attribute, quarantine, program,
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

    private static let item: StaticString = """
        CREATE TABLE item (
            number INTEGER PRIMARY KEY,
            salt INTEGER NOT NULL,
            version INTEGER NOT NULL,
            class INTEGER NOT NULL,
            protection INTEGER NOT NULL,
            flags INTEGER NOT NULL,
            key_id BLOB NOT NULL,
            primary_key BLOB NOT NULL,
            names BLOB NOT NULL,
            details BLOB NOT NULL,
            secret BLOB,
            account_hash BLOB NOT NULL,
            group_hash BLOB NOT NULL,
            place_hash BLOB NOT NULL,
            hashes BLOB,
            change_number INTEGER,
            logical_time INTEGER NOT NULL
        ) STRICT
        """

    /// All items of a group, those of one service or server in it, and the one of a primary key:
    /// each index costs a page in every commit that adds an item.
    private static let byPlace: StaticString = """
        CREATE UNIQUE INDEX item_by_place ON item (group_hash, place_hash, primary_key)
        """

    private static let byAccount: StaticString = """
        CREATE INDEX item_by_account ON item (account_hash)
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

    private static let quarantine: StaticString = """
        CREATE TABLE quarantine (
            moved_at INTEGER NOT NULL,
            number INTEGER NOT NULL,
            salt INTEGER NOT NULL,
            version INTEGER NOT NULL,
            class INTEGER NOT NULL,
            protection INTEGER NOT NULL,
            flags INTEGER NOT NULL,
            key_id BLOB NOT NULL,
            primary_key BLOB NOT NULL,
            names BLOB NOT NULL,
            details BLOB NOT NULL,
            secret BLOB,
            account_hash BLOB NOT NULL,
            group_hash BLOB NOT NULL,
            place_hash BLOB NOT NULL,
            hashes BLOB,
            change_number INTEGER,
            logical_time INTEGER NOT NULL
        ) STRICT
        """

    private static let program: StaticString = """
        CREATE TABLE program (
            id BLOB PRIMARY KEY,
            sealed BLOB NOT NULL
        ) STRICT, WITHOUT ROWID
        """

    /// What tells the file's kind: docs/FORMAT.md §2. PRAGMAs take no parameters.
    package static let marks: [StaticString] = [
        "PRAGMA application_id = 0x56414C54", "PRAGMA user_version = 1",
    ]

    /// The columns of `item`, in the order in which `SELECT *` gives them.
    package enum Column {
        static let number: Int32 = 0
        static let salt: Int32 = 1
        static let version: Int32 = 2
        static let itemClass: Int32 = 3
        static let protection: Int32 = 4
        static let flags: Int32 = 5
        static let keyID: Int32 = 6
        static let primaryKey: Int32 = 7
        static let names: Int32 = 8
        static let details: Int32 = 9
        static let secret: Int32 = 10
        static let accountHash: Int32 = 11
        static let groupHash: Int32 = 12
        static let placeHash: Int32 = 13
        static let hashes: Int32 = 14
        static let changeNumber: Int32 = 15
        /// What rises with every write of the row.
        package static let logicalTime: Int32 = 16
    }

    /// Refuses a database that has other tables than this version makes.
    package static func check(_ connection: Connection) throws(SystemError) {
        let expected = statements.map { $0.description }.sorted()
        guard try connection.schema() == expected else {
            throw SystemError(
                .schemaMismatch, during: "open the database", path: connection.path)
        }
    }
}
