// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainModel

extension Valet {
    /// The bytes that are stored under each of `keys`, all as they were at one moment.
    ///
    /// On Apple's systems, whose keychain has no transactions, they are read one after the other.
    /// - Returns: By key; keys under which nothing is stored are missing.
    /// - Throws: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func objects(
        forKeys keys: some Sequence<String>
    ) throws(KeychainError) -> [String: Data] {
        let keys = Set(keys)
        guard !keys.contains("") else { throw .emptyKey }
        guard !keys.isEmpty else { return [:] }
        do {
            return try backend.values(of: keys, in: sandbox)
        } catch {
            throw KeychainError(error)
        }
    }

    /// Stores each of `objects` under its key, in place of what was there: all of them, or none.
    /// On return they are on disk.
    ///
    /// One transaction, so that a hundred cost little more than one. On Apple's systems, whose
    /// keychain has none, what was stored is taken back if a later one fails.
    /// - Throws: `emptyKey`, `emptyValue`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func setObjects(_ objects: [String: Data]) throws(KeychainError) {
        guard objects[""] == nil else { throw .emptyKey }
        guard !objects.values.contains(where: \.isEmpty) else { throw .emptyValue }
        do {
            try backend.set(objects.map { (item: sandbox.item($0.key), value: $0.value) })
        } catch {
            throw KeychainError(error)
        }
    }
}
