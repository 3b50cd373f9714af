// SPDX-License-Identifier: Apache-2.0

package import ValetDatabase
internal import ValetKeychainModel
internal import ValetSystem

/// One connection with the statements of the store, each compiled at its first use.
// Sendable because one thread at a time has it: the pool hands it out and takes it back.
package final class RowConnection: @unchecked Sendable {
    /// The connection to the database.
    package let connection: Connection

    /// At which look of the pool its files were last seen to be open.
    var seenLook = 0

    /// The stamp of the settings.
    package let stamp: Statement
    /// The one row of the settings.
    package let keychain: Statement
    /// The keybags, the oldest first.
    package let keybags: Statement
    /// What a read by name needs of a row.
    package let value: Statement
    let byPrimaryKey: Statement
    let byNumber: Statement
    let byAccount: Statement
    let byAttribute: Statement
    /// What is written, found as a reader finds it.
    let written: Statement
    /// Whether a search entry is there.
    package let entry: Statement
    let byPlace: Statement
    let numbersByPlace: Statement
    /// Names of the rows in a range of numbers.
    package let namesByNumbers: Statement
    /// Names and logical times of the rows of a service.
    package let versionsByPlace: Statement
    let byGroup: Statement
    let numbersByAccount: Statement
    let numbersByAttribute: Statement
    let numbersByGroup: Statement
    /// All rows, by their numbers.
    package let all: Statement
    /// How many rows are in quarantine.
    package let quarantined: Statement

    /// The statements of a connection, none of them compiled yet.
    package init(_ connection: Connection) {
        self.connection = connection
        stamp = Statement("SELECT stamp FROM keychain WHERE one = 1", on: connection)
        keychain = Statement("SELECT * FROM keychain WHERE one = 1", on: connection)
        keybags = Statement(
            "SELECT epoch, bytes FROM keybag ORDER BY epoch LIMIT 3", on: connection)
        value = Statement(Self.valueOfKey, on: connection)
        byPrimaryKey = Statement(Self.rowOfKey, on: connection)
        byNumber = Statement("SELECT * FROM item WHERE number = ?1", on: connection)
        byAccount = Statement(Self.rowsOfAccount, on: connection)
        byAttribute = Statement(
            """
            SELECT item.* FROM attribute JOIN item ON item.number = attribute.number
            WHERE attribute.hash = ?1 ORDER BY attribute.number
            """, on: connection)
        written = Statement(Self.versionOfKey, on: connection)
        entry = Statement(
            "SELECT 1 FROM attribute WHERE hash = ?1 AND number = ?2", on: connection)
        byPlace = Statement(Self.rowsOfPlace, on: connection)
        numbersByPlace = Statement(
            "SELECT number FROM item WHERE group_hash = ?1 AND place_hash = ?2", on: connection)
        namesByNumbers = Statement(Self.namesOfNumbers, on: connection)
        versionsByPlace = Statement(Self.versionsOfPlace, on: connection)
        byGroup = Statement(Self.rowsOfGroup, on: connection)
        numbersByAccount = Statement(
            "SELECT number FROM item WHERE account_hash = ?1", on: connection)
        numbersByAttribute = Statement(
            "SELECT number FROM attribute WHERE hash = ?1", on: connection)
        numbersByGroup = Statement(
            "SELECT number FROM item WHERE group_hash = ?1", on: connection)
        all = Statement("SELECT * FROM item ORDER BY number", on: connection)
        quarantined = Statement("SELECT count(*) FROM quarantine", on: connection)
    }

    private static let valueOfKey: StaticString = """
        SELECT number, salt, version, protection, flags, key_id, names, details, secret
        FROM item WHERE group_hash = ?1 AND place_hash = ?2 AND primary_key = ?3
        """
    // The version is in no index, so that the row itself has to be found, too.
    private static let versionOfKey: StaticString = """
        SELECT number, version FROM item
        WHERE group_hash = ?1 AND place_hash = ?2 AND primary_key = ?3
        """

    // SQLite takes columns that an index has from the index, unless it looks the row up by its
    // number: a row has to say itself what it is. Without a row all its columns are NULL.
    private static let rowOfKey: StaticString = """
        SELECT item.* FROM item AS entry LEFT JOIN item ON item.number = entry.number
        WHERE entry.group_hash = ?1 AND entry.place_hash = ?2 AND entry.primary_key = ?3
        """
    private static let rowsOfAccount: StaticString = """
        SELECT * FROM item WHERE number IN (SELECT number FROM item WHERE account_hash = ?1)
        ORDER BY number
        """

    // The index is in the order of primary keys. Sorting its row numbers first spares sorting whole
    // rows, and reads the table from front to back.
    private static let rowsOfPlace: StaticString = """
        SELECT * FROM item WHERE number IN (
            SELECT number FROM item WHERE group_hash = ?1 AND place_hash = ?2)
        ORDER BY number
        """
    private static let namesOfNumbers: StaticString = """
        SELECT number, salt, version, class, protection, flags, key_id, primary_key, names,
            NULL, NULL, account_hash, NULL, NULL, hashes
        FROM item WHERE number BETWEEN ?1 AND ?2 ORDER BY number
        """
    private static let versionsOfPlace: StaticString = """
        SELECT number, salt, version, class, protection, flags, key_id, primary_key, names,
            NULL, NULL, account_hash, NULL, NULL, hashes, NULL, logical_time
        FROM item WHERE group_hash = ?1 AND place_hash = ?2
        """
    private static let rowsOfGroup: StaticString = """
        SELECT * FROM item WHERE number IN (SELECT number FROM item WHERE group_hash = ?1)
        ORDER BY number
        """
}

/// The connection that writes, with its statements; used only under the keychain's lock.
// Sendable because only the holder of the keychain's lock uses it.
package final class RowWriter: @unchecked Sendable {
    /// The same connection, for what is read inside a write transaction.
    package let reading: RowConnection
    /// Whether this process has seen to it that the log's file is long enough.
    package var hasRoomInLog = false
    /// Whether this process has seen to it that the log's file has room for removing items.
    package var hasReserveInLog = false
    /// Adds a row.
    package let insert: Statement
    let update: Statement
    let updateSealed: Statement
    /// Deletes a row.
    package let delete: Statement
    /// Adds a search entry.
    package let insertAttribute: Statement
    let deleteAttribute: Statement
    /// Looks at the whole table: for rows that are damaged.
    package let deleteAttributes: Statement
    let lastNumber: Statement
    let lastChange: Statement
    /// Copies a row into quarantine.
    package let quarantine: Statement
    /// Whether a program is on record.
    package let program: Statement
    let insertProgram: Statement

    /// The connection to the database.
    package var connection: Connection { reading.connection }

    /// The statements of a connection, none of them compiled yet.
    package init(_ connection: Connection) {
        reading = RowConnection(connection)
        insert = Statement(
            """
            INSERT INTO item VALUES (
                ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
            """, on: connection)
        update = Statement(
            """
            UPDATE item SET salt = ?2, version = ?3, class = ?4, protection = ?5, flags = ?6,
                key_id = ?7, primary_key = ?8, names = ?9, details = ?10, secret = ?11,
                account_hash = ?12, group_hash = ?13, place_hash = ?14, hashes = ?15,
                change_number = ?16, logical_time = ?17
            WHERE number = ?1
            """, on: connection)
        updateSealed = Statement(
            """
            UPDATE item SET version = ?2, protection = ?3, flags = ?4, key_id = ?5, names = ?6,
                details = ?7, secret = ?8, change_number = ?9, logical_time = ?10
            WHERE number = ?1
            """, on: connection)
        delete = Statement("DELETE FROM item WHERE number = ?1", on: connection)
        insertAttribute = Statement(
            "INSERT OR IGNORE INTO attribute (hash, number) VALUES (?1, ?2)", on: connection)
        deleteAttribute = Statement(
            "DELETE FROM attribute WHERE hash = ?1 AND number = ?2", on: connection)
        deleteAttributes = Statement("DELETE FROM attribute WHERE number = ?1", on: connection)
        lastNumber = Statement("SELECT max(number) FROM item", on: connection)
        lastChange = Statement(
            "SELECT max(change_number) FROM item WHERE change_number IS NOT NULL", on: connection)
        quarantine = Statement(
            "INSERT INTO quarantine SELECT ?2, * FROM item WHERE number = ?1", on: connection)
        program = Statement("SELECT 1 FROM program WHERE id = ?1", on: connection)
        insertProgram = Statement(
            "INSERT INTO program (id, sealed) VALUES (?1, ?2)", on: connection)
    }
}

/// What a read by name needs of a row, sealed as it is in the database. A class, because it is kept
/// and lent out again and again.
package final class ValueRow: Sendable {
    /// The header of the row.
    package let header: RowHeader
    /// The tag of part A.
    package let names: PartTag
    /// The tag of part B.
    package let details: PartTag
    /// Part V.
    package let secret: [UInt8]

    /// A row as it was read.
    package init(header: RowHeader, names: PartTag, details: PartTag, secret: [UInt8]) {
        self.header = header
        self.names = names
        self.details = details
        self.secret = secret
    }
}
