// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// What a call for an item with a password comes to.
enum Sealed: Equatable, CustomTestStringConvertible {
    case value(String?)
    /// So many boxes have to be opened first.
    case locked(Int)
    case new
    case demanded([AccessControl])
    case failed(KeychainFailure.Code)

    var testDescription: String { "\(self)" }
}

/// Items whose values are sealed under an application's password.
extension TestKeychain {
    static let password = "own"

    /// Adds an item that has "value of …" under a password.
    @discardableResult
    func addSealed(
        _ account: String, under text: String = password,
        _ more: AccessControl.Constraints = []
    ) throws -> StoredItem {
        let accessControl = try Self.accessControl(more.union(.applicationPassword))
        var access = PresenceAccess(.demanding)
        access.newPassword = try Self.newPassword(text)
        let addition = Addition(
            Self.item(account, accessControl), value: .text("value of \(account)"))
        guard case .found(let item) = try store.add(addition, for: caller, access) else {
            throw KeychainFailure(.internalFault, during: "add")
        }
        return item
    }

    static func newPassword(_ text: String) throws -> StretchedPassword {
        try StretchedPassword(new: SecretBytes(copying: Array(text.utf8).span), .lowest)
    }

    /// What opens all boxes that a search for `query` meets, as far as that password does.
    func passwords(
        _ text: String = password, for query: ItemQuery = .generic(), _ proof: PresenceProof? = nil
    ) throws -> [StretchedPassword] {
        let access = PresenceAccess(.demanding, proof: proof)
        // What the call comes to is for who reads the item afterwards.
        guard
            case .needsPerson(.passwords(let locks))? = try? store.copy(
                query, .value, for: caller, access)
        else { return [] }
        return try locks.map { lock in
            try StretchedPassword(SecretBytes(copying: Array(text.utf8).span), for: lock)
        }
    }

    /// Reads an item as a search does, with a password; nil brings none.
    func open(
        _ account: String, _ text: String? = password, _ proof: PresenceProof? = nil
    ) throws -> Sealed {
        var access = PresenceAccess(.demanding, proof: proof)
        if let text { access.passwords = try passwords(text, for: .exact(account), proof) }
        return sealed {
            try store.value(of: .exact(account), for: caller, access)
        }
    }

    /// Updates an item with what a call brings.
    func update(
        _ account: String, _ changes: ItemChanges = ItemChanges(), to value: String? = nil,
        _ access: PresenceAccess = PresenceAccess(.demanding)
    ) -> Sealed {
        let update = ItemUpdate(
            query: .exact(account), changes: changes, value: value.map(SecretValue.text))
        return sealed { try store.update(update, for: caller, access).map { _ in nil } }
    }

    func sealed(_ body: () throws -> ItemResult<SecretValue?>) -> Sealed {
        do {
            return switch try body() {
            case .found(let value): .value(value.map { String(decoding: $0.array, as: UTF8.self) })
            case .absent: .failed(.itemNotFound)
            case .needsPerson(.proofs(let demands)): .demanded(demands)
            case .needsPerson(.passwords(let locks)): .locked(locks.count)
            case .needsPerson(.newPassword): .new
            }
        } catch {
            return .failed((error as? KeychainFailure)?.code ?? .internalFault)
        }
    }

    /// The box of an item, in a keychain without a passcode.
    func box(_ item: StoredItem) throws -> [UInt8] {
        let row = try row(item)
        let cipher = try rowKeys().cipher(opening: row.header)
        let secret = try #require(row.secret)
        return try cipher.openValue(ValueParts(row), secret.span).array
    }

    /// Puts other bytes into an item's box, as somebody can who has every key of the
    func rewrite(_ item: StoredItem, box: [UInt8]) throws {
        var row = try row(item)
        let cipher = try rowKeys().cipher(opening: row.header)
        let padded = Padding.padded(
            SecretValue.bytes(box), toMultipleOf: ItemCipher.valuePadding(box.count))
        row.secret = try padded.withBytes { try cipher.seal($0, of: row) }
        try tamper(
            "UPDATE item SET secret = ?2 WHERE number = ?1", item.parameter,
            .bytes(try #require(row.secret)))
        store.close()
    }
}
