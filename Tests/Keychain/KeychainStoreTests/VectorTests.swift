// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetSystem
import ValetTestSupport
import ValetTestValues

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// The bytes of docs/FORMAT.md, made by a program that knows nothing but that page.
@Suite struct `The vectors of the format` {
    /// §3.1.
    @Test(arguments: try Vector.all("device-key"))
    func `The vectors of device keys have their outcomes`(_ vector: Vector) throws {
        let bytes = try vector.bytes("file")
        do {
            let file = try DeviceKeyFile(parsing: bytes.span)
            #expect(vector.outcome == .success)
            #expect(try file.keychainID?.bytes == vector.bytes("keychain"))
            let secret = file.secret.withBytes { [UInt8](copying: $0) }
            #expect(try secret == vector.bytes("secret"))
            #expect(file.encoded.withBytes { [UInt8](copying: $0) } == bytes)
        } catch let failure as KeychainFailure {
            let outcome: Vector.Outcome =
                switch failure.code {
                case .invalidEncoding: .malformed
                case .newerFormat: .unsupported
                default: .tampered
                }
            #expect(vector.outcome == outcome)
        }
    }

    /// §4.
    @Test(arguments: try Vector.all("keybag"))
    func `The vectors of keybags have their outcomes`(_ vector: Vector) throws {
        let bytes = try vector.bytes("keybag")
        do {
            let locked = try LockedKeybag(parsing: bytes)
            #expect(locked.encoded == bytes)
            let keys = try vector.unlock(locked, "secret")
            #expect(vector.outcome == .success)
            #expect(try locked.keychainID.bytes == vector.bytes("keychain"))
            #expect(try locked.epoch.rawValue == vector.number("epoch"))
            let index = keys.index.withBytes { [UInt8](copying: $0) }
            #expect(try index == vector.bytes("index"))
            let classes = ProtectionClass.allCases.compactMap(keys.keys(of:))
            #expect(try classes.map { $0.keyID.bytes } == vector.list("key_id"))
            let attributes = classes.map { $0.attributes.withBytes { [UInt8](copying: $0) } }
            #expect(try attributes == vector.list("attributes_subkey"))
            let values = classes.map { $0.value.withBytes { [UInt8](copying: $0) } }
            #expect(try values == vector.list("value_subkey"))
            let syncs = [KeyScope.afterFirstUnlock, .whileUnlocked].compactMap {
                scope -> [UInt8]? in
                switch keys.syncSecret(scope) {
                case .some(let secret): secret.withBytes { [UInt8](copying: $0) }
                case .none: nil
                }
            }
            #expect(try syncs == vector.list("sync"))
        } catch let error as KeychainFailure {
            #expect(vector.outcome == error.outcome, "\(error)")
        }
    }

    /// §5, §6.
    @Test(arguments: try Vector.all("row"))
    func `The vectors of rows have their outcomes`(_ vector: Vector) throws {
        let keys = try vector.unlock(LockedKeybag(parsing: vector.bytes("keybag")), "device_secret")
        let row = try vector.row()
        do {
            let (content, value) = try open(row, keys)
            #expect(vector.outcome == .success)
            #expect(try content == vector.content(valueByteCount: value?.count))
            #expect(try value == (vector.has("value") ? vector.bytes("value") : nil))
            let hashes = IndexHasher(keys).hashes(
                row.header.itemClass, content,
                isSynchronizable: row.header.flags.contains(.synchronizable))
            #expect(hashes.place == row.place)
            #expect(hashes.encodedOthers == row.hashes)
        } catch is SystemError {
            #expect(vector.outcome == .tampered)
        }
    }

    private func open(
        _ row: SealedRow, _ keys: UnlockedKeybag
    ) throws(SystemError) -> (ItemContent, [UInt8]?) {
        guard let keys = keys.keys(of: row.header.protectionClass),
            row.header.epoch == Vector.epoch
        else { throw .row(.damagedSeal) }
        let cipher = ItemCipher(keychainID: Vector.keychainID, keys: keys)
        let content = try cipher.openContent(row)
        guard let secret = row.secret else { return (content, nil) }
        let value = try cipher.openValue(ValueParts(row), secret.span)
        guard value.byteCount == content.valueByteCount else { throw .row(.damagedContent) }
        return (content, value.array)
    }

    /// A value and a header are the same in both directions, so that sealing once more opens, too.
    @Test(arguments: try Vector.all("row").filter { $0.outcome == .success })
    func `The vectors of the format can be sealed again`(_ vector: Vector) throws {
        let keys = try vector.unlock(LockedKeybag(parsing: vector.bytes("keybag")), "device_secret")
        var row = try vector.row()
        let cipher = ItemCipher(
            keychainID: Vector.keychainID,
            keys: try #require(keys.keys(of: row.header.protectionClass)))
        let (content, value) = try open(row, keys)
        row.header.version += 1
        let index = IndexHasher(keys).hashes(
            row.header.itemClass, content,
            isSynchronizable: row.header.flags.contains(.synchronizable))
        let sealed = try cipher.seal(
            row.header, content, index, value: value.map(SecretValue.bytes), logicalTime: 1)
        let again = try open(sealed, keys)
        #expect(again.0 == content)
        #expect(again.1 == value)
        #expect(sealed.names.count == row.names.count)
        #expect(sealed.secret?.count == row.secret?.count)
        #expect(sealed.nonce != row.nonce && sealed.names != row.names)
    }
}

extension Vector {
    /// The epoch of all rows.
    static let epoch = Epoch(1)
    /// The keychain of all rows: 200, 201 … 215.
    static let keychainID = KeychainID(InlineArray { UInt8(200 + $0) })

    fileprivate func unlock(_ keybag: LockedKeybag, _ secret: String) throws -> UnlockedKeybag {
        let secret = try bytes(secret)
        let protector = Protector(try DeviceSecret(copying: secret.span))
        return try keybag.unlock(with: protector, settings: bytes("settings"))
    }

    func row() throws -> SealedRow {
        let header = RowHeader(
            number: try number("number"), salt: try number("salt"), version: try number("version"),
            itemClass: try #require(ItemClass(rawValue: try number("class"))),
            protectionClass: try #require(ProtectionClass(rawValue: try number("protection"))),
            flags: try #require(RowFlags(column: try number("flags"))),
            epoch: Epoch(try number("epoch")), placeHash: try IndexHash(bytes("place_hash")),
            accountHash: try IndexHash(bytes("account_hash")))
        return SealedRow(
            header: header, placeID: 1, groupHash: try IndexHash(bytes("group_hash")),
            serviceHash: try IndexHash(bytes("service_hash")), hashes: try bytes("hashes"),
            nonce: try RowNonce(bytes("nonce")), names: try bytes("names"),
            secret: has("secret") ? try bytes("secret") : nil, changeNumber: nil, logicalTime: 0)
    }

    /// What opening gives: the attributes of the file, and the defaults of the key.
    func content(valueByteCount: Int?) throws -> ItemContent {
        let itemClass = try #require(ItemClass(rawValue: try number("class")))
        var attributes: ItemAttributes = [:]
        for attribute in itemClass.primaryKeyAttributes
        where !Attribute.variants.contains(attribute) {
            attributes[attribute] = attribute.defaultValue
        }
        for bytes in try list("attribute") {
            let attribute = try #require(Attribute(tag: bytes[0]))
            attributes[attribute] = try Self.value(type: bytes[1], Array(bytes[2...]))
        }
        let group = String(decoding: try bytes("group_name"), as: UTF8.self)
        return ItemContent(
            accessGroup: AccessGroup(group), attributes: attributes, valueByteCount: valueByteCount)
    }

    private static func value(type: UInt8, _ bytes: [UInt8]) throws -> AttributeValue {
        let bits = bytes.reduce(0) { $0 << 8 | UInt64($1) }
        switch type {
        case 1: return .text(String(decoding: bytes, as: UTF8.self))
        case 2: return .bytes(bytes)
        case 3: return .number(Int64(bitPattern: bits))
        case 4: return .date(Double(bitPattern: bits))
        case 5: return .accessControl(bytes)
        default: throw Mistake(text: "type \(type)")
        }
    }
}

extension KeychainFailure {
    /// What a vector calls the failure of a keybag.
    var outcome: Vector.Outcome? {
        switch code {
        case .keychainDamaged: message.contains("form") ? .malformed : .tampered
        case .newerFormat: .unsupported
        case .keyUnavailable: .wrongSecret
        default: nil
        }
    }
}
