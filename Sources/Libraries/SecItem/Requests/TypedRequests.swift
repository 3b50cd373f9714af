// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

// The dictionaries of the calls in `SecItem.swift`, as typed requests: how each call reads its
// dictionaries, and what it refuses (spec/secitem.md §3.3). Whether the caller may use the group is
// checked after faults of the dictionary, and before what the item class cannot do (§3.10).

struct AddRequest {
    var item: NewItem
    var value: Data?
    var returning: ReturnedParts
    var policy: AuthenticationPolicy

    /// The request in `dictionary`.
    ///
    /// Match keys are refused; Apple's keychain claims success for them and stores nothing (§3.5).
    init(
        _ dictionary: NSDictionary, of caller: Caller? = nil
    ) throws(KeychainFailure) {
        let contents = try DictionaryReader(dictionary, for: .add)
        try contents.refuseSkipping()
        _ = try caller?.group(writing: contents.accessGroup, during: SecItemCall.add.operation)
        try contents.refuseMatchKeys()
        var attributes = contents.attributes
        // The keychain sets both dates itself (§2.5).
        attributes[.creationDate] = nil
        attributes[.modificationDate] = nil
        item = NewItem(
            contents.itemClass, attributes: attributes, accessGroup: contents.accessGroup,
            isSynchronizable: try contents.storedSynchronizable() ?? false,
            protectionClass: contents.storedClass ?? .whenUnlocked)
        item.accessControl = contents.storedAccessControl
        value = contents.value
        returning = contents.returning
        policy = contents.policy
    }
}

struct CopyRequest {
    var search: SearchRequest
    var returning: ReturnedParts
    /// Whether the result is an array even if it holds one object.
    var isList: Bool

    init(
        _ dictionary: NSDictionary, of caller: Caller? = nil
    ) throws(KeychainFailure) {
        let contents = try DictionaryReader(dictionary, for: .copyMatching)
        _ = try caller?.groups(
            searching: contents.accessGroup, during: SecItemCall.copyMatching.operation)
        if contents.reference != nil && contents.namesAttributes {
            throw contents.invalid("attributes cannot be searched beside a persistent reference")
        }
        if contents.namesIssuers
            || (contents.host != nil && contents.itemClass != .internetPassword)
        {
            throw contents.call.failure(
                .unimplemented, "items of this class cannot be searched in this way")
        }
        search = contents.search
        returning = contents.returning
        isList = false
        apply(contents.limit ?? .one)
    }

    private mutating func apply(_ limit: DictionaryReader.Limit) {
        switch limit {
        case .one, .number(1): search.query.limit = 1
        case .all, .number(-1):
            search.query.limit = nil
            isList = true
        case .number(0):
            search.query.limit = 1
            search.canMatch = false
        case .number(let count):
            // Other negative numbers mean an array of one item, as on Apple's systems (§3.6).
            search.query.limit = count > 1 ? Int(clamping: count) : 1
            isList = true
        }
    }
}

struct UpdateRequest {
    var search: SearchRequest
    var changes: ItemChanges
    var value: Data?

    init(_ query: NSDictionary, _ changes: NSDictionary) throws(KeychainFailure) {
        let contents = try DictionaryReader(query, for: .update)
        try contents.refuseMatchKeys()
        try contents.refuseSkipping()
        search = contents.search
        let changed = try DictionaryReader(changes: changes, of: contents.itemClass)
        var attributes = changed.attributes
        attributes[.modificationDate] = nil
        self.changes = ItemChanges(
            attributes: attributes, accessGroup: changed.accessGroup,
            isSynchronizable: try changed.storedSynchronizable(),
            protectionClass: changed.storedClass)
        self.changes.accessControl = changed.storedAccessControl
        value = changed.value
    }
}

/// Selects the items of a call; for `SecItemDelete`, this is the whole request.
struct SearchRequest {
    var query: ItemQuery
    /// False for searches that no item can match, such as one with limit 0.
    var canMatch: Bool
    var policy: AuthenticationPolicy

    func checkThatItCanMatch(_ call: SecItemCall) throws(KeychainFailure) {
        if !canMatch { throw call.failure(.itemNotFound, "no item can match") }
    }
}

extension SearchRequest {
    /// The request in a dictionary of `SecItemDelete`.
    ///
    /// Return flags, limits and the value have no effect (§7, and §3.3 on macOS).
    init(deleting dictionary: NSDictionary) throws(KeychainFailure) {
        let contents = try DictionaryReader(dictionary, for: .delete)
        try contents.refuseMatchKeys()
        try contents.refuseSkipping()
        self = contents.search
    }
}

/// The parts that a call returns: the `kSecReturn…` flags that are true.
struct ReturnedParts: OptionSet, Hashable {
    let rawValue: UInt8

    static let data = ReturnedParts(rawValue: 1)
    static let attributes = ReturnedParts(rawValue: 2)
    /// An object. Passwords have none, but the result becomes a dictionary with the class.
    static let object = ReturnedParts(rawValue: 4)
    static let persistentReference = ReturnedParts(rawValue: 8)
}

extension DictionaryReader {
    fileprivate var search: SearchRequest {
        var query = ItemQuery(itemClass, attributes: attributes, accessGroup: accessGroup)
        query.reference = reference
        query.protectionClass = protectionClass
        query.hostOrSubdomainOfHost = host
        query.synchronizable =
            switch synchronizable {
            case .local, .neither: .localOnly
            case .synchronized: .synchronizedOnly
            case .any: .any
            // A reference finds its item, synchronized or not (§4.1).
            case nil: reference == nil ? .localOnly : .any
            }
        return SearchRequest(
            query: query, canMatch: synchronizable != .neither, policy: policy)
    }

    /// The flag to store; nil if the dictionary has none.
    ///
    /// `kSecAttrSynchronizableAny` sets nothing (§4.2).
    fileprivate func storedSynchronizable() throws(KeychainFailure) -> Bool? {
        switch synchronizable {
        case nil, .any: return nil
        case .local: return false
        case .synchronized: return true
        case .neither: throw invalid("kSecAttrSynchronizable is neither true nor false")
        }
    }

    fileprivate func refuseMatchKeys() throws(KeychainFailure) {
        if namesMatches || limit != nil {
            throw invalid("this kSecMatch… key is for searches only")
        }
    }

    fileprivate func refuseSkipping() throws(KeychainFailure) {
        if policy.userInterface == .skip {
            throw invalid("kSecUseAuthenticationUISkip is for searches only")
        }
    }
}

enum SecItemCall: CaseIterable {
    case add, copyMatching, update, delete

    var operation: String {
        switch self {
        case .add: "add an item"
        case .copyMatching: "read items"
        case .update: "update items"
        case .delete: "delete items"
        }
    }

    /// A failure of this call whose cause is the dictionary.
    func failure(_ code: KeychainFailure.Code, _ message: String) -> KeychainFailure {
        KeychainFailure(code, during: operation, message: message)
    }
}
