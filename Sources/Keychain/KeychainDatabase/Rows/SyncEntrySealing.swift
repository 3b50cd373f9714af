// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
package import ValetSystem

/// The name of an entry of sync, to which its sealed parts are bound.
package struct SyncEntryHead: Hashable, Sendable {
    /// What the entry is about: docs/FORMAT.md §12.2.
    package let kind: UInt8
    /// The entry's id within its kind.
    package let id: [UInt8]
    /// The number of the item; 0 for none.
    package let item: Int64
    /// The class whose keys seal the secret part.
    package let protectionClass: ProtectionClass

    /// The entry with that name.
    package init(
        _ kind: UInt8, _ id: [UInt8], item: Int64 = 0,
        _ protectionClass: ProtectionClass = .afterFirstUnlock
    ) {
        self.kind = kind
        self.id = id
        self.item = item
        self.protectionClass = protectionClass
    }
}

/// An entry of sync as SQLite holds it.
package struct SealedSyncEntry: Sendable {
    /// The number of the row; 0 for an entry that was just sealed.
    let number: Int64
    /// The name to which the sealed parts are bound.
    package let head: SyncEntryHead
    let epoch: Epoch
    let facts: [UInt8]
    let secret: [UInt8]?

    fileprivate init(
        _ head: SyncEntryHead, _ epoch: Epoch, facts: [UInt8], secret: [UInt8]?
    ) {
        (number, self.head, self.epoch) = (0, head, epoch)
        (self.facts, self.secret) = (facts, secret)
    }

    /// Reads the row that `run` is at.
    ///
    /// - Throws: ``SystemError``: `damagedColumn`.
    init(_ run: borrowing Statement.Run) throws(SystemError) {
        guard let kind = UInt8(exactly: run.int64(1)),
            let protectionClass = UInt8(exactly: run.int64(4)).flatMap(ProtectionClass.init)
        else { throw .row(.damagedColumn) }
        number = run.int64(0)
        head = SyncEntryHead(kind, run.blob(2), item: run.int64(3), protectionClass)
        epoch = Epoch(column: run.int64(5))
        facts = run.blob(6)
        secret = run.isNull(7) ? nil : run.blob(7)
    }
}

extension RowKeys {
    private static let factsPadding = 32

    /// Seals an entry under the current epoch: facts under the keys of `ck`, which are open while
    /// the keychain is locked, and the secret part under the keys of its class.
    ///
    /// - Throws: ``SystemError``: `lockedRow`.
    package func seal(
        _ head: SyncEntryHead, facts: [UInt8], secret: SecretValue?
    ) throws(SystemError) -> SealedSyncEntry {
        let number = epoch.keys.epoch
        guard let factsKeys = epoch.keys.keys(of: .afterFirstUnlock) else { throw .row(.lockedRow) }
        var padded = facts
        Padding.pad(&padded, toMultipleOf: Self.factsPadding)
        let sealed = head.associatedData("F", keychainID, number).withBytes { data in
            AEAD.seal(padded.span, associatedData: data, under: factsKeys.attributes)
        }
        guard let secret else { return SealedSyncEntry(head, number, facts: sealed, secret: nil) }
        guard let keys = epoch.keys.keys(of: head.protectionClass) else { throw .row(.lockedRow) }
        let plaintext = Padding.padded(
            secret, toMultipleOf: ItemCipher.valuePadding(secret.byteCount))
        let sealedSecret = head.associatedData("S", keychainID, number).withBytes { data in
            plaintext.withBytes { plaintext in
                AEAD.seal(plaintext, associatedData: data, under: keys.value)
            }
        }
        return SealedSyncEntry(head, number, facts: sealed, secret: sealedSecret)
    }

    /// Opens the facts of an entry.
    ///
    /// - Throws: ``SystemError``: `damagedSeal`, `damagedContent`, `lockedRow`.
    package func openFacts(_ entry: SealedSyncEntry) throws(SystemError) -> [UInt8] {
        let keys = try keys(of: .afterFirstUnlock, entry.epoch)
        let data = entry.head.associatedData("F", keychainID, entry.epoch)
        guard
            let padded = try? data.withBytes({ data in
                try AEAD.openIntoArray(
                    entry.facts.span, associatedData: data, under: keys.attributes)
            })
        else { throw .row(.damagedSeal) }
        guard
            let byteCount = try? Padding.unpaddedByteCount(padded.span, step: Self.factsPadding)
        else { throw .row(.damagedContent) }
        return Array(padded[..<byteCount])
    }

    /// Opens the secret part of an entry; nil if it has none.
    ///
    /// - Throws: ``SystemError``: `damagedSeal`, `damagedContent`; `lockedRow` if the keys of
    ///   its class are not open.
    package func openSecret(_ entry: SealedSyncEntry) throws(SystemError) -> SecretValue? {
        guard let secret = entry.secret else { return nil }
        let keys = try keys(of: entry.head.protectionClass, entry.epoch)
        guard
            let padded = try? entry.head.associatedData("S", keychainID, entry.epoch).withBytes({
                data in
                try AEAD.open(secret.span, associatedData: data, under: keys.value)
            })
        else { throw .row(.damagedSeal) }
        let step = padded.byteCount <= 1056 ? 32 : 1024
        guard
            let byteCount = try? padded.withBytes({ try Padding.unpaddedByteCount($0, step: step) }
            ),
            ItemCipher.valuePadding(byteCount) == step
        else { throw .row(.damagedContent) }
        return SecretValue(padded, byteCount: byteCount)
    }

    private func keys(
        of protectionClass: ProtectionClass, _ number: Epoch
    ) throws(SystemError) -> ClassKeys {
        guard epoch.keys.epoch == number, epoch.hasKey(of: protectionClass) else {
            throw .row(.damagedSeal)
        }
        guard let keys = epoch.keys.keys(of: protectionClass) else { throw .row(.lockedRow) }
        return keys
    }
}

extension SyncEntryHead {
    fileprivate func associatedData(
        _ part: String, _ keychainID: KeychainID, _ epoch: Epoch
    ) -> LengthPrefixed {
        var data = LengthPrefixed(reservingByteCount: 160)
        data.append(DerivationContext.syncEntry.rawValue)
        data.append(part)
        data.append(keychainID)
        data.append(epoch.rawValue)
        data.append(kind)
        data.append(id)
        data.append(UInt64(bitPattern: item))
        data.append(protectionClass.rawValue)
        return data
    }
}

// MARK: - Names in records

extension SealedSyncEntry {
    /// The kinds of entries whose secret is a record: docs/FORMAT.md §12.2.
    package static let recordKinds: Set<UInt8> = [1, 8]
    /// The bytes of a record's salt, before its content.
    package static let saltByteCount = 16

    /// The byte of a content that says that the item has moved to the other scope.
    private static let movedKind: UInt8 = 2

    /// Whether the record of this entry, whose names are readable, is no *moved* one, and its value
    /// is another than `value`.
    fileprivate func differs(from value: SecretValue?, _ secret: SecretValue) -> Bool {
        let start = Self.saltByteCount
        return secret.withBytes { bytes in
            guard bytes[start + 2] != Self.movedKind else { return false }
            let end = bytes.extracting(Self.namesEnd(in: bytes)..<bytes.count)
            // A value has its length before it.
            guard let value else { return !end.isEmpty }
            return end.count != value.byteCount + 4
                || !SecretValue(copying: end.extracting(4..<end.count)).isEqual(to: value)
        }
    }

    /// Where the attributes of a record end, which has more than seven bytes of content.
    private static func namesEnd(in bytes: Span<UInt8>) -> Int {
        let listByteCount = (3..<7).reduce(0) { $0 << 8 | Int(bytes[saltByteCount + $1]) }
        return min(saltByteCount + 7 + listByteCount, bytes.count)
    }

    /// The item's names in the record of this entry; nil if there is no content.
    func names(in secret: SecretValue) -> (ItemClass, ItemContent)? {
        let start = Self.saltByteCount
        guard Self.recordKinds.contains(head.kind), secret.byteCount > start + 7 else { return nil }
        // The value lies behind the attributes, and is not copied.
        let bytes = secret.withBytes { bytes in
            (start..<Self.namesEnd(in: bytes)).map { bytes[$0] }
        }
        guard let itemClass = ItemClass(rawValue: bytes[0]),
            let list = AttributeList(encoded: bytes[7...]),
            let content = try? ItemContent(itemClass, list)
        else { return nil }
        return (itemClass, content)
    }
}

extension RowKeys {
    /// How many values sync keeps that no row shows, such as conflicts. Entries that do not open
    /// count as well.
    ///
    /// - Throws: ``SystemError``: `lockedRow`.
    package func unshownCount(_ store: RowConnection) throws(SystemError) -> Int {
        var count = 0
        for (kind, id) in try store.sync.recordNames() {
            let isShown = try unlessDamaged { () throws(SystemError) in
                guard let entry = try store.sync.entry(kind, id),
                    let secret = try openSecret(entry)
                else { throw .row(.damagedContent) }
                guard let names = entry.names(in: secret) else { return true }
                let place = hasher.place(
                    names.0, names.1.attributes, group: names.1.accessGroup, isSynchronizable: true)
                let row = try store.row(in: place)
                let shown = try unlessDamaged { () throws(SystemError) in try row.map(openUnused) }
                return !entry.differs(from: (shown ?? nil)?.value, secret)
            }
            if isShown != true { count += 1 }
        }
        return count
    }
}
