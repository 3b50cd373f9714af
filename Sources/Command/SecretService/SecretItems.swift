// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing

/// What the service says of an item, besides its secret.
struct SecretRecord: Sendable {
    var label: String
    var attributes: [LookupName: String]
    /// The MIME type of the secret.
    var contentType: String
    /// Seconds since 1970.
    var created: UInt64 = 0
    /// Seconds since 1970.
    var modified: UInt64 = 0
}

/// A new state of an item; nil keeps what it has.
struct SecretChange: Sendable {
    var label: String?
    var attributes: [LookupName: String]?
    var secret: (value: SecretValue, contentType: String)?
}

/// The items of one collection.
///
/// Every function is safe from every thread, and ends by the deadline of a call.
protocol SecretItems: Sendable {
    /// Whether the secrets cannot be read now.
    func isLocked() throws(KeychainFailure) -> Bool
    /// The ids of the items that have these attributes; nil for all. A locked collection has them
    /// as well.
    func ids(having attributes: [LookupName: String]?) throws(KeychainFailure) -> [String]
    /// Whether there is an item of that id, also in a locked collection.
    func exists(_ id: String) throws(KeychainFailure) -> Bool
    /// - Returns: nil for an item that is gone.
    /// - Throws: `locked`.
    func record(of id: String) throws(KeychainFailure) -> SecretRecord?
    /// - Returns: nil for an item that is gone.
    /// - Throws: `locked`.
    func secret(
        of id: String
    ) throws(KeychainFailure) -> (value: SecretValue, contentType: String)?
    /// Stores an item; if `isReplacing`, in the place of one with exactly these attributes.
    func store(
        _ record: SecretRecord, _ value: SecretValue, replacing isReplacing: Bool
    ) throws(KeychainFailure) -> (id: String, wasThere: Bool)
    /// - Returns: false for an item that is gone.
    func change(_ id: String, _ change: SecretChange) throws(KeychainFailure) -> Bool
    /// - Returns: false for an item that is gone.
    func delete(_ id: String) throws(KeychainFailure) -> Bool
}

/// Items that the caller cannot change.
protocol UnchangedItems: SecretItems {
    /// Why they cannot be changed.
    var refusal: KeychainFailure { get }
}

extension UnchangedItems {
    func store(
        _ record: SecretRecord, _ value: SecretValue, replacing isReplacing: Bool
    ) throws(KeychainFailure) -> (id: String, wasThere: Bool) {
        throw refusal
    }

    func change(_ id: String, _ change: SecretChange) throws(KeychainFailure) -> Bool {
        throw refusal
    }

    func delete(_ id: String) throws(KeychainFailure) -> Bool { throw refusal }
}
