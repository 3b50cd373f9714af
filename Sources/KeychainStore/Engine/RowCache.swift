// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// What a read by name needs of a row, sealed as it is in the database.
struct ValueRow {
    let header: RowHeader
    let names: PartTag
    let details: PartTag
    /// Part V.
    let secret: [UInt8]
}

/// Rows that one connection has read, sealed as they are: a program reads the same few names again
/// and again, and to find them costs as much as to open them.
///
/// Good for one data version of the connection: a reader that finds another one empties it. It
/// holds the first 16,384 small rows and then no more.
struct RowCache {
    private struct Key: Hashable {
        let service: ObjectIdentifier
        let account: String
    }

    private static let capacity = 16_384
    private static let largestByteCount = 512

    private var rows: [Key: ValueRow] = [:]
    /// Keeps the identities that keys are made of from being taken by others.
    private var services: [ServicePlace] = []

    /// The row of an account, if it was read before.
    func row(_ account: String, _ service: ServicePlace) -> ValueRow? {
        guard !rows.isEmpty else { return nil }
        return rows[Key(service: ObjectIdentifier(service), account: account)]
    }

    /// Keeps a row, if it is small and there is room.
    mutating func add(_ row: ValueRow, _ account: String, _ service: ServicePlace) {
        // Two texts that Swift calls equal may differ in their bytes, and lead elsewhere then.
        guard rows.count < Self.capacity, account.utf8.allSatisfy({ $0 < 128 }),
            row.secret.count <= Self.largestByteCount
        else { return }
        if !services.contains(where: { $0 === service }) { services.append(service) }
        rows[Key(service: ObjectIdentifier(service), account: account)] = row
    }

    /// Forgets everything.
    mutating func removeAll() {
        guard !rows.isEmpty else { return }
        rows.removeAll(keepingCapacity: true)
        services.removeAll()
    }
}
