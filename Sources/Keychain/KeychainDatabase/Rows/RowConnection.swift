// SPDX-License-Identifier: Apache-2.0

package import ValetDatabase
internal import ValetKeychainModel
internal import ValetSystem

/// One connection with the statements of the store, each compiled at its first use.
// Sendable because one thread at a time has it: the pool hands it out and takes it back.
package final class RowConnection: @unchecked Sendable {
    package let connection: Connection

    /// The stamp of the settings.
    package let stamp: Statement
    /// The one row of the settings.
    package let keychain: Statement
    /// The keybag. A second row means damage.
    package let keybag: Statement
    /// The columns that a read by name needs.
    package let value: Statement
    let byPrimaryKey: Statement
    let byNumber: Statement
    /// The size of a row, which reads no value.
    let byteCount: Statement
    /// Whether a search entry exists.
    package let entry: Statement
    let numbersByPlace: Statement
    let placesOfService: Statement
    let numbersInPlace: Statement
    /// The rows in a range of numbers, without values and the hashes of their places.
    package let namesByNumbers: Statement
    /// The rows of a place, without values and the hashes of their places.
    package let namesInPlace: Statement
    let numbersByAccount: Statement
    let numbersByAttribute: Statement
    let numbersByGroup: Statement
    /// All rows, by their numbers.
    package let all: Statement
    let numbers: Statement
    let formerByName: Statement
    let formerByAccount: Statement
    /// The former rows of a group; reads the whole table.
    let formerByGroup: Statement
    /// The former rows from one on, in their order.
    let formerFrom: Statement
    /// The hashes in the columns of a row and its place.
    let placeOfRow: Statement
    /// What other devices replaced; reads the whole table.
    let replaced: Statement
    package let sync: SyncTables

    /// The statements of a connection, none of them compiled yet.
    package init(_ connection: Connection) {
        self.connection = connection
        stamp = Statement("SELECT stamp FROM keychain WHERE one = 1", on: connection)
        keychain = Statement("SELECT * FROM keychain WHERE one = 1", on: connection)
        keybag = Statement("SELECT epoch, bytes FROM keybag LIMIT 2", on: connection)
        value = Statement(Self.valueOfKey, on: connection)
        byPrimaryKey = Statement(Self.rowOfKey, on: connection)
        byNumber = Statement(Self.rowOfNumber, on: connection)
        byteCount = Statement(
            "SELECT length(names) + ifnull(length(secret), 0) FROM item WHERE number = ?1",
            on: connection)
        entry = Statement(
            "SELECT 1 FROM attribute WHERE hash = ?1 AND number = ?2", on: connection)
        numbersByPlace = Statement(Self.numbersOfService, on: connection)
        placesOfService = Statement(
            "SELECT id, place_hash FROM place WHERE group_hash = ?1 AND service_hash = ?2",
            on: connection)
        numbersInPlace = Statement("SELECT number FROM item WHERE place = ?1", on: connection)
        namesByNumbers = Statement(Self.namesOfNumbers, on: connection)
        namesInPlace = Statement(Self.namesOfPlace, on: connection)
        numbersByAccount = Statement(Self.numbersOfAccount, on: connection)
        numbersByAttribute = Statement(
            "SELECT number FROM attribute WHERE hash = ?1", on: connection)
        numbersByGroup = Statement(Self.numbersOfGroup, on: connection)
        all = Statement(Self.rows, on: connection)
        numbers = Statement("SELECT number FROM item ORDER BY number", on: connection)
        formerByName = Statement(Self.formerOfName, on: connection)
        formerByAccount = Statement(
            "SELECT * FROM former WHERE account_hash = ?1 ORDER BY kept DESC", on: connection)
        formerByGroup = Statement(
            "SELECT * FROM former WHERE group_hash = ?1 ORDER BY kept DESC", on: connection)
        formerFrom = Statement(
            "SELECT * FROM former WHERE kept >= ?1 ORDER BY kept", on: connection)
        placeOfRow = Statement(Self.hashesOfRow, on: connection)
        replaced = Statement(Self.replacedRows, on: connection)
        sync = SyncTables(connection)
    }

    private static let valueOfKey: StaticString = """
        SELECT number, salt, version, protection, flags, epoch, nonce, names, secret
        FROM place CROSS JOIN item ON item.place = place.id AND item.account_hash = ?4
        WHERE group_hash = ?1 AND service_hash = ?2 AND place_hash = ?3
        """

    // SQLite reads columns from an index that has them, unless it looks up the row by its number.
    // Here the columns must come from rows and places themselves. Without a row all its columns are
    // NULL.
    private static let rowOfKey: StaticString = """
        SELECT item.*, own.group_hash, own.service_hash, own.place_hash
        FROM place CROSS JOIN item AS entry
            ON entry.place = place.id AND entry.account_hash = ?4
        LEFT JOIN item ON item.number = entry.number
        LEFT JOIN place AS own ON own.id = item.place
        WHERE place.group_hash = ?1 AND place.service_hash = ?2 AND place.place_hash = ?3
        """
    private static let rowOfNumber: StaticString = """
        SELECT item.*, group_hash, service_hash, place_hash
        FROM item LEFT JOIN place ON place.id = item.place WHERE number = ?1
        """

    // If a group has few places, each of them is searched: that saves an index of all accounts.
    private static let numbersOfAccount: StaticString = """
        SELECT number FROM place CROSS JOIN item
            ON item.place = place.id AND item.account_hash = ?2
        WHERE group_hash = ?1 AND id > 0
        UNION ALL SELECT number FROM item WHERE account_hash = ?2 AND place < 0
        """

    private static let numbersOfService: StaticString = """
        SELECT number FROM place CROSS JOIN item ON item.place = place.id
        WHERE group_hash = ?1 AND service_hash = ?2
        """
    private static let namesOfNumbers: StaticString = """
        SELECT number, salt, version, class, protection, flags, epoch, place, account_hash, nonce,
            names, NULL, hashes
        FROM item WHERE number BETWEEN ?1 AND ?2 ORDER BY number
        """
    private static let namesOfPlace: StaticString = """
        SELECT number, salt, version, class, protection, flags, epoch, place, account_hash, nonce,
            names, NULL, hashes, NULL, logical_time
        FROM item WHERE place = ?1
        """
    private static let numbersOfGroup: StaticString = """
        SELECT number FROM place CROSS JOIN item ON item.place = place.id WHERE group_hash = ?1
        """
    private static let replacedRows: StaticString = """
        SELECT kept, length(secret) FROM former WHERE reason = 3 ORDER BY kept
        """
    private static let hashesOfRow: StaticString = """
        SELECT group_hash, service_hash, place_hash, account_hash
        FROM item LEFT JOIN place ON place.id = item.place WHERE number = ?1
        """
    private static let formerOfName: StaticString = """
        SELECT * FROM former WHERE account_hash = ?1 AND place_hash = ?2 ORDER BY kept DESC
        """
    private static let rows: StaticString = """
        SELECT item.*, group_hash, service_hash, place_hash
        FROM item LEFT JOIN place ON place.id = item.place ORDER BY number
        """
}

/// The connection that writes, with its statements; used only under the keychain's lock.
// Sendable because only the holder of the keychain's lock uses it.
package final class RowWriter: @unchecked Sendable {
    /// The same connection, for what is read inside a write transaction.
    package let reading: RowConnection
    /// Whether this process has made the log's file long enough.
    package var hasRoomInLog = false
    /// Whether this process has made room in the log's file for removing items.
    package var hasReserveInLog = false
    /// Whether pages that become free are overwritten.
    var overwritesFreePages = true
    /// When the disk was last seen to have ample room; nil once a write has failed or the database
    /// has grown.
    var lastAmpleSpace: Int64?
    /// The value of ``lastAmpleSpace`` after the commit.
    var ampleSpace: Int64?
    /// How many rows were updated without a change of their size since the last call of
    /// ``mayHaveGrown()``.
    var sameSizeCount: Int64 = 0
    /// The connection's count of changed rows at that call.
    private var askedChangeCount: Int64 = 0
    let place: Statement
    let addPlace: Statement
    let fewPlaces: Statement
    /// Deletes a place that has no rows, if the table is small enough to look at all of it.
    let deletePlace: Statement
    let rowInPlace: Statement
    /// Deletes places without rows; looks at the whole table, because an index may be damaged.
    package let deleteEmptyPlaces: Statement
    /// Adds a row.
    package let insert: Statement
    let update: Statement
    let updateSealed: Statement
    package let delete: Statement
    /// Adds a search entry.
    package let insertAttribute: Statement
    let deleteAttribute: Statement
    /// Deletes all search entries of a row, even if its column `hashes` is damaged. Scans the
    /// table.
    package let deleteAttributes: Statement
    /// How many pages the database has, with the changes of the open transaction.
    let pageCount: Statement
    let lastNumber: Statement
    let lastChange: Statement
    /// Adds a row whose columns may hold anything, even NULL.
    package let insertAny: Statement
    let putFormer: Statement
    /// Adds a former row whose columns may hold anything, even NULL.
    package let putAnyFormer: Statement
    /// The former rows of a name from one on, the last one first.
    let lastKept: Statement
    let formerAt: Statement
    let dropFormer: Statement
    let dropNamedFormer: Statement
    let dropOldFormer: Statement
    let purgeFormer: Statement
    let markDamaged: Statement

    package var connection: Connection { reading.connection }

    /// The statements of a connection, none of them compiled yet.
    package init(_ connection: Connection) {
        reading = RowConnection(connection)
        place = Statement(Self.idOfPlace, on: connection)
        fewPlaces = Statement(Self.stateOfPlaces, on: connection)
        addPlace = Statement("INSERT INTO place VALUES (?4, ?1, ?2, ?3)", on: connection)
        deletePlace = Statement(Self.deletionOfPlace, on: connection)
        rowInPlace = Statement("SELECT 1 FROM item WHERE place = ?1", on: connection)
        deleteEmptyPlaces = Statement(Self.deletionOfEmptyPlaces, on: connection)
        insert = Statement(Self.insertion, on: connection)
        update = Statement(Self.updateOfAll, on: connection)
        updateSealed = Statement(Self.updateOfSealed, on: connection)
        delete = Statement("DELETE FROM item WHERE number = ?1", on: connection)
        insertAttribute = Statement(
            "INSERT OR IGNORE INTO attribute (hash, number) VALUES (?1, ?2)", on: connection)
        deleteAttribute = Statement(
            "DELETE FROM attribute WHERE hash = ?1 AND number = ?2", on: connection)
        deleteAttributes = Statement("DELETE FROM attribute WHERE number = ?1", on: connection)
        pageCount = Statement("PRAGMA page_count", on: connection)
        lastNumber = Statement(Self.greatestNumber, on: connection)
        lastChange = Statement(Self.greatestChange, on: connection)
        insertAny = Statement(Self.insertionOfAny, on: connection)
        putFormer = Statement(Self.formerRow, on: connection)
        putAnyFormer = Statement(Self.formerRowOfAny, on: connection)
        lastKept = Statement(Self.lastOfName, on: connection)
        formerAt = Statement("SELECT 1 FROM former WHERE kept = ?1", on: connection)
        dropFormer = Statement("DELETE FROM former WHERE kept = ?1", on: connection)
        dropNamedFormer = Statement(Self.deletionOfFormerName, on: connection)
        dropOldFormer = Statement(Self.deletionOfOldFormer, on: connection)
        purgeFormer = Statement(Self.deletionOfFormer, on: connection)
        markDamaged = Statement(
            "UPDATE former SET reason = 4, seal = NULL WHERE kept = ?1", on: connection)
    }

    /// Whether changes since the last call may have enlarged the database. Updates that keep the
    /// size of their rows cannot. Asking SQLite costs as much as finding a row.
    func mayHaveGrown() -> Bool {
        let changeCount = connection.changedRowCount
        defer { (askedChangeCount, sameSizeCount) = (changeCount, 0) }
        return changeCount - askedChangeCount != sameSizeCount
    }

    // A former row may come back, and opens only under its own number.
    private static let greatestNumber: StaticString = """
        SELECT max(
            ifnull((SELECT max(number) FROM item), 0), ifnull((SELECT max(number) FROM former), 0))
        """
    // Without the mark, deleting the item with the greatest change number would free that number
    // for the next change, and sync would not see that change.
    private static let greatestChange: StaticString = """
        SELECT max(
            ifnull((SELECT max(change_number) FROM item WHERE change_number IS NOT NULL), 0),
            ifnull((SELECT mark FROM sync_mark WHERE one = 1), 0))
        """
    private static let idOfPlace: StaticString = """
        SELECT place.id, own.group_hash = ?1 AND own.service_hash = ?2 AND own.place_hash = ?3
        FROM place LEFT JOIN place AS own ON own.id = place.id
        WHERE place.group_hash = ?1 AND place.service_hash = ?2 AND place.place_hash = ?3
        """
    private static let stateOfPlaces: StaticString = """
        SELECT count(*) < 64, max(0, (SELECT max(id) FROM place)),
            min(0, (SELECT min(id) FROM place))
        FROM place WHERE group_hash = ?1 AND id > 0
        """
    private static let deletionOfPlace: StaticString = """
        DELETE FROM place WHERE id = ?1
            AND ifnull((SELECT max(number) FROM item) - (SELECT min(number) FROM item), 0) < 4096
            AND NOT EXISTS (SELECT 1 FROM item NOT INDEXED WHERE item.place = ?1)
        """
    private static let deletionOfEmptyPlaces: StaticString = """
        DELETE FROM place WHERE id NOT IN (SELECT place FROM item NOT INDEXED)
        """
    private static let insertion: StaticString = """
        INSERT INTO item VALUES (
            ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
        """
    private static let updateOfAll: StaticString = """
        UPDATE item SET salt = ?2, version = ?3, class = ?4, protection = ?5, flags = ?6,
            epoch = ?7, place = ?8, account_hash = ?9, nonce = ?10, names = ?11, secret = ?12,
            hashes = ?13, change_number = ?14, logical_time = ?15
        WHERE number = ?1
        """
    private static let updateOfSealed: StaticString = """
        UPDATE item SET version = ?2, protection = ?3, flags = ?4, epoch = ?5, nonce = ?6,
            names = ?7, secret = ?8, change_number = ?9, logical_time = ?10
        WHERE number = ?1
        """
    private static let insertionOfAny: StaticString = """
        INSERT INTO item VALUES (
            ?1, ifnull(CAST(?2 AS INTEGER), 0), ifnull(CAST(?3 AS INTEGER), 0),
            ifnull(CAST(?4 AS INTEGER), 0), ifnull(CAST(?5 AS INTEGER), 0),
            ifnull(CAST(?6 AS INTEGER), 0), ifnull(CAST(?7 AS INTEGER), 0),
            ifnull(CAST(?8 AS INTEGER), 0), ifnull(CAST(?9 AS BLOB), x''),
            ifnull(CAST(?10 AS BLOB), x''), ifnull(CAST(?11 AS BLOB), x''), CAST(?12 AS BLOB),
            CAST(?13 AS BLOB), CAST(?14 AS INTEGER), ifnull(CAST(?15 AS INTEGER), 0))
        """
    private static let formerRowOfAny: StaticString = """
        INSERT INTO former VALUES (
            ifnull(CAST(?1 AS INTEGER), 0), ifnull(CAST(?2 AS INTEGER), 0),
            ifnull(CAST(?3 AS INTEGER), 0), ifnull(CAST(?4 AS INTEGER), 0),
            ifnull(CAST(?5 AS INTEGER), 0), ifnull(CAST(?6 AS INTEGER), 0),
            ifnull(CAST(?7 AS INTEGER), 0), ifnull(CAST(?8 AS INTEGER), 0),
            ifnull(CAST(?9 AS BLOB), x''), ifnull(CAST(?10 AS BLOB), x''),
            ifnull(CAST(?11 AS BLOB), x''), CAST(?12 AS BLOB), CAST(?13 AS BLOB),
            CAST(?14 AS INTEGER), ifnull(CAST(?15 AS INTEGER), 0), CAST(?16 AS BLOB),
            CAST(?17 AS BLOB), CAST(?18 AS BLOB), ?19, ifnull(CAST(?20 AS INTEGER), 0),
            CAST(?21 AS BLOB))
        """
    private static let formerRow: StaticString = """
        INSERT OR REPLACE INTO former VALUES (
            ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
            ?20, ?21)
        """
    private static let lastOfName: StaticString = """
        SELECT * FROM former WHERE account_hash = ?1 AND place_hash = ?2 AND kept >= ?3
        ORDER BY kept DESC
        """
    private static let deletionOfFormerName: StaticString = """
        DELETE FROM former WHERE kept = ?1 OR kept IN (
            SELECT other.kept FROM former AS one JOIN former AS other
                ON other.account_hash = one.account_hash AND other.place_hash = one.place_hash
            WHERE one.kept = ?1)
        """
    private static let deletionOfFormer: StaticString = """
        DELETE FROM former
        WHERE (account_hash = ?1 AND place_hash = ?2) OR (number = ?3 AND salt = ?4)
        """
}

/// The part of a row that a read by name needs, still sealed. A class, because it is kept and used
/// many times.
package final class ValueRow: Sendable {
    /// The data to which part V is bound.
    package let parts: ValueParts
    /// Part V.
    package let secret: [UInt8]

    package var header: RowHeader { parts.header }

    /// A row as it was read.
    package init(parts: ValueParts, secret: [UInt8]) {
        self.parts = parts
        self.secret = secret
    }
}
