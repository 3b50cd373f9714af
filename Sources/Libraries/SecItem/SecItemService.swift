// SPDX-License-Identifier: Apache-2.0

package import Foundation
internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainServices
package import ValetKeychainStore
internal import ValetSealing

/// The four SecItem calls in Swift form: they take dictionaries, and return objects or throw
/// failures. Each reads its dictionary, checks the group, and makes a typed request to a session.
package struct SecItemService: Sendable {
    /// The service for the keychain of this process, on behalf of its own application.
    static let ofThisProcess = SecItemService { () throws(KeychainFailure) in
        try KeychainSession.current()
    }

    /// Called once the request has been understood.
    let session: @Sendable () throws(KeychainFailure) -> KeychainSession

    /// `SecItemAdd`
    package func add(_ attributes: NSDictionary) throws(KeychainFailure) -> AnyObject? {
        let request = try AddRequest(attributes) { (group) throws(KeychainFailure) in
            try check(group, .add)
        }
        let value = try SecretValue.copy(ofAny: request.value)
        let item = try session().add(
            request.item, value: value, request.interaction.policy, .demanding)
        return SecItemResult(returning: request.returning, isList: false)
            .added(item, request.value)
    }

    /// `SecItemCopyMatching`
    package func copyMatching(_ query: NSDictionary) throws(KeychainFailure) -> AnyObject? {
        let request = try copyRequest(query)
        let session = try session()
        let result = SecItemResult(returning: request.returning, isList: request.isList)
        let policy = request.search.interaction.policy
        if request.returning == .data && !request.isList {
            return try session.value(of: request.search.query, policy)?.data as NSData?
        }
        let found = try session.copy(request.search.query, result.parts, policy)
        return result.found(found.itemsReportingDamage())
    }

    /// The items that `SecItemCopyMatching` finds, with attributes and values, whatever `query`
    /// asks to return.
    package func items(
        matching query: NSDictionary
    ) throws(KeychainFailure) -> FoundItems<StoredItem> {
        let request = try copyRequest(query)
        return try session().copy(
            request.search.query, [.attributes, .value], request.search.interaction.policy)
    }

    private func copyRequest(_ query: NSDictionary) throws(KeychainFailure) -> CopyRequest {
        let request = try CopyRequest(query) { (group) throws(KeychainFailure) in
            try check(group, .copyMatching)
        }
        try check(request.search, .copyMatching)
        return request
    }

    /// `SecItemUpdate`
    package func update(
        _ query: NSDictionary, _ attributesToUpdate: NSDictionary
    ) throws(KeychainFailure) {
        let request = try UpdateRequest(query, attributesToUpdate)
        try check(request.search.query.accessGroup, .update)
        if let group = request.changes.accessGroup { try check(group, .update) }
        try check(request.search, .update)
        let value = try SecretValue.copy(ofAny: request.value)
        try session().update(
            request.search.query, request.changes, value: value,
            request.search.interaction.policy)
    }

    /// `SecItemDelete`
    package func delete(_ query: NSDictionary) throws(KeychainFailure) {
        let request = try SearchRequest(deleting: query)
        try check(request.query.accessGroup, .delete)
        try check(request, .delete)
        try session().delete(request.query)
    }

    /// Checks the group (spec/secitem.md §5.2), whether or not the keychain exists.
    private func check(
        _ group: AccessGroup?, _ call: SecItemCall
    ) throws(KeychainFailure) {
        let caller = try session().caller
        switch call {
        case .add: _ = try caller.group(writing: group, during: call.operation)
        case .copyMatching: _ = try caller.groups(searching: group, during: call.operation)
        case .update, .delete: _ = try caller.groups(changing: group, during: call.operation)
        }
    }

    private func check(
        _ search: SearchRequest, _ call: SecItemCall
    ) throws(KeychainFailure) {
        if !search.canMatch { throw call.failure(.itemNotFound, "no item can match") }
    }
}

extension SecItemService {
    /// The service for the keychain of `session`, on behalf of its application.
    package init(_ session: KeychainSession) {
        self.init { session }
    }
}
