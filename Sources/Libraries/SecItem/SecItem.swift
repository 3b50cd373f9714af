// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainDatabase
package import ValetKeychainModel
public import ValetKeychainServices
package import ValetKeychainStore
internal import ValetSealing

// The calls in the shape that they have on Apple's systems, and the only place with pointers.
// `CoreFoundationNames` calls `NSDictionary` `CFDictionary` and `AnyObject` `CFTypeRef`.
// A `KeychainSession` carries out the calls. As on Apple's systems the codes may be discarded.

/// Adds an item (spec/secitem.md §2–§5).
///
/// - Parameters:
///   - attributes: `kSecClass`, attributes, `kSecValueData`, and what to return.
///   - result: Set on success to what the `kSecReturn…` keys ask for; untouched on failure.
/// - Returns: `errSecSuccess`, `errSecDuplicateItem`, `errSecParam`, `errSecNoSuchAttr`,
///   `errSecNoSuchClass`, `errSecMissingEntitlement`, `errSecUnimplemented` or what keeps the
///   keychain from working; `KeychainFailure.last` says more.
@discardableResult
public func SecItemAdd(
    _ attributes: NSDictionary, _ result: UnsafeMutablePointer<AnyObject?>?
) -> OSStatus {
    unsafe deliver(to: result) { () throws(KeychainFailure) in
        try KeychainSession.current().add(attributes)
    }
}

/// Finds items: one unless `kSecMatchLimit` says otherwise (spec/secitem.md §3).
///
/// - Parameters:
///   - query: `kSecClass` or `kSecValuePersistentRef`, attributes to match, what to return.
///   - result: Set on success to `NSData`, `NSDictionary` or `NSArray`; untouched on failure.
/// - Returns: `errSecSuccess`, `errSecItemNotFound`, or a code of ``SecItemAdd(_:_:)``.
@discardableResult
public func SecItemCopyMatching(
    _ query: NSDictionary, _ result: UnsafeMutablePointer<AnyObject?>?
) -> OSStatus {
    unsafe deliver(to: result) { () throws(KeychainFailure) in
        try KeychainSession.current().copyMatching(query)
    }
}

/// Changes every item that matches, or none (spec/secitem.md §6).
///
/// - Parameters:
///   - query: `kSecClass` or `kSecValuePersistentRef`, attributes to match.
///   - attributesToUpdate: Attributes and `kSecValueData`; the others keep their values.
/// - Returns: `errSecSuccess`, `errSecItemNotFound`, `errSecDuplicateItem`, or as
///   ``SecItemAdd(_:_:)``.
@discardableResult
public func SecItemUpdate(
    _ query: NSDictionary, _ attributesToUpdate: NSDictionary
) -> OSStatus {
    status { () throws(KeychainFailure) in
        try KeychainSession.current().update(query, attributesToUpdate)
    }
}

/// Deletes every item that matches (spec/secitem.md §7). Up to 1,000 candidates are deleted all or
/// none. More are deleted in batches: after a failure another call deletes the rest, and
/// `KeychainFailure.last` says how many were deleted.
///
/// - Parameter query: `kSecClass` or `kSecValuePersistentRef`, attributes to match.
/// - Returns: `errSecSuccess`, `errSecItemNotFound`, or a code of ``SecItemAdd(_:_:)``.
@discardableResult
public func SecItemDelete(_ query: NSDictionary) -> OSStatus {
    status { () throws(KeychainFailure) in try KeychainSession.current().delete(query) }
}

/// Like ``SecItemAdd(_:_:)``, for a result that the caller releases.
@_documentation(visibility: internal)
@_disfavoredOverload
@discardableResult
public func SecItemAdd(
    _ attributes: NSDictionary, _ result: UnsafeMutablePointer<Unmanaged<AnyObject>?>?
) -> OSStatus {
    unsafe retaining(result) { unsafe SecItemAdd(attributes, $0) }
}

/// Like ``SecItemCopyMatching(_:_:)``, for a result that the caller releases.
@_documentation(visibility: internal)
@_disfavoredOverload
@discardableResult
public func SecItemCopyMatching(
    _ query: NSDictionary, _ result: UnsafeMutablePointer<Unmanaged<AnyObject>?>?
) -> OSStatus {
    unsafe retaining(result) { unsafe SecItemCopyMatching(query, $0) }
}

private func retaining(
    _ result: UnsafeMutablePointer<Unmanaged<AnyObject>?>?,
    _ call: (UnsafeMutablePointer<AnyObject?>?) -> OSStatus
) -> OSStatus {
    guard let result = unsafe result else { return call(nil) }
    var object: AnyObject?
    let status = unsafe call(&object)
    if status == errSecSuccess { unsafe result.pointee = object.map(Unmanaged.passRetained) }
    return status
}

/// The meaning of `status` in words; "OSStatus" with the number for unknown codes.
///
/// - Parameter reserved: Without effect; pass nil.
public func SecCopyErrorMessageString(
    _ status: OSStatus, _ reserved: UnsafeMutableRawPointer?
) -> NSString? {
    NSString(string: StatusMessage.text(for: status) ?? "OSStatus \(status)")
}

/// Overwrites `count` bytes with random bytes that are fit for keys.
///
/// - Parameter rnd: `kSecRandomDefault`; there is no other source.
/// - Returns: `errSecSuccess`, or `errSecParam` if `count` is negative.
@discardableResult
public func SecRandomCopyBytes(
    _ rnd: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer
) -> Int32 {
    guard count >= 0 else { return errSecParam }
    let buffer = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: count)
    var span = unsafe MutableSpan<UInt8>(_unsafeBytes: buffer)
    Randomness.fill(&span)
    return errSecSuccess
}

/// The calls with dictionaries, as methods for Swift code. Each parses its dictionary, checks the
/// group even if there is no keychain (spec/secitem.md §5.2), and makes a typed request.
extension KeychainSession {
    /// Returns what `SecItemAdd` stores in its result.
    package func add(_ attributes: NSDictionary) throws(KeychainFailure) -> AnyObject? {
        let request = try AddRequest(attributes, of: caller)
        let value = try SecretValue.copy(ofAny: request.value)
        let item = try add(request.item, value: value, request.policy, .demanding)
        return SecItemResult(returning: request.returning, isList: false)
            .added(item, request.value)
    }

    /// Returns what `SecItemCopyMatching` stores in its result.
    package func copyMatching(_ query: NSDictionary) throws(KeychainFailure) -> AnyObject? {
        let request = try copyRequest(query)
        let result = SecItemResult(returning: request.returning, isList: request.isList)
        let policy = request.search.policy
        if request.returning == .data && !request.isList {
            return try value(of: request.search.query, policy)?.data as NSData?
        }
        let found = try copy(request.search.query, result.parts, policy)
        // A list has what can be read. One item is the first match, which may be damaged.
        let isOfOne = request.search.query.limit == 1
        return result.found(
            try isOfOne ? found.itemsUnlessDamaged() : found.itemsReportingDamage())
    }

    /// The items that `SecItemCopyMatching` finds, with attributes and values, whatever `query`
    /// asks to return.
    package func items(
        matching query: NSDictionary
    ) throws(KeychainFailure) -> FoundItems<StoredItem> {
        let search = try copyRequest(query).search
        return try copy(search.query, [.attributes, .value], search.policy)
    }

    private func copyRequest(_ query: NSDictionary) throws(KeychainFailure) -> CopyRequest {
        let request = try CopyRequest(query, of: caller)
        try request.search.checkThatItCanMatch(.copyMatching)
        return request
    }

    package func update(
        _ query: NSDictionary, _ attributesToUpdate: NSDictionary
    ) throws(KeychainFailure) {
        let call = SecItemCall.update
        let request = try UpdateRequest(query, attributesToUpdate)
        _ = try caller.groups(
            changing: request.search.query.accessGroup, during: call.operation)
        if let group = request.changes.accessGroup {
            _ = try caller.groups(changing: group, during: call.operation)
        }
        try request.search.checkThatItCanMatch(call)
        let value = try SecretValue.copy(ofAny: request.value)
        try update(
            request.search.query, request.changes, value: value, request.search.policy)
    }

    package func delete(_ query: NSDictionary) throws(KeychainFailure) {
        let call = SecItemCall.delete
        let request = try SearchRequest(deleting: query)
        _ = try caller.groups(changing: request.query.accessGroup, during: call.operation)
        try request.checkThatItCanMatch(call)
        try delete(request.query)
    }
}

/// A source of random bytes. No instance exists: calls take ``kSecRandomDefault``.
public final class SecRandom: Sendable {
    private init() {}
}

/// A source of random bytes, by its name on Apple's systems.
public typealias SecRandomRef = SecRandom

/// The source of random bytes of ``SecRandomCopyBytes(_:_:_:)``.
public let kSecRandomDefault: SecRandomRef? = nil

private func deliver(
    to result: UnsafeMutablePointer<AnyObject?>?,
    _ body: () throws(KeychainFailure) -> AnyObject?
) -> OSStatus {
    status { () throws(KeychainFailure) in
        let object = try body()
        unsafe result?.pointee = object
    }
}

/// Runs `body`. If it fails, keeps the failure in `KeychainFailure.last` and returns its code.
private func status(_ body: () throws(KeychainFailure) -> Void) -> OSStatus {
    do {
        try body()
        return errSecSuccess
    } catch {
        KeychainFailure.last = error
        return error.status
    }
}
