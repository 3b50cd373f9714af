// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
public import ValetKeychainServices
internal import ValetSecretMemory

// The calls in the shape they have on Apple's systems: the one place with pointers. Their codes may
// be passed over, as there.

/// Adds an item (spec/secitem.md §2–§5).
///
/// - Parameters:
///   - attributes: `kSecClass`, attributes, `kSecValueData`, and what to return.
///   - result: Set on success to what the `kSecReturn…` keys ask for; untouched on failure.
/// - Returns: `errSecSuccess`, `errSecDuplicateItem`, `errSecParam`, `errSecNoSuchAttr`,
///   `errSecNoSuchClass`, `errSecMissingEntitlement`, `errSecUnimplemented` or what keeps the
///   keychain from working; `KeychainFailure.last` says more.
@_disfavoredOverload
@discardableResult
public func SecItemAdd(
    _ attributes: [String: Any], _ result: UnsafeMutablePointer<AnyObject?>?
) -> OSStatus {
    unsafe deliver(to: result) { () throws(KeychainFailure) in
        try SecItemService.ofThisProcess.add(attributes)
    }
}

/// Finds items: one unless `kSecMatchLimit` says otherwise (spec/secitem.md §3).
///
/// - Parameters:
///   - query: `kSecClass` or `kSecValuePersistentRef`, attributes to match, what to return.
///   - result: Set on success to `NSData`, `NSDictionary` or `NSArray`; untouched on failure.
/// - Returns: `errSecSuccess`, `errSecItemNotFound`, or as ``SecItemAdd(_:_:)``.
@_disfavoredOverload
@discardableResult
public func SecItemCopyMatching(
    _ query: [String: Any], _ result: UnsafeMutablePointer<AnyObject?>?
) -> OSStatus {
    unsafe deliver(to: result) { () throws(KeychainFailure) in
        try SecItemService.ofThisProcess.copyMatching(query)
    }
}

/// Changes every item that matches, or none (spec/secitem.md §6).
///
/// - Parameters:
///   - query: `kSecClass` or `kSecValuePersistentRef`, attributes to match.
///   - attributesToUpdate: Attributes and `kSecValueData`; what it lacks stays as it is.
/// - Returns: `errSecSuccess`, `errSecItemNotFound`, `errSecDuplicateItem`, or as
///   ``SecItemAdd(_:_:)``.
@_disfavoredOverload
@discardableResult
public func SecItemUpdate(
    _ query: [String: Any], _ attributesToUpdate: [String: Any]
) -> OSStatus {
    status { () throws(KeychainFailure) in
        try SecItemService.ofThisProcess.update(query, attributesToUpdate)
    }
}

/// Deletes every item that matches (spec/secitem.md §7): all or none, if no more than 1,000 come
/// into question. More are deleted in batches; after a failure another call deletes the rest, and
/// `KeychainFailure.last` says how many are gone.
///
/// - Parameter query: `kSecClass` or `kSecValuePersistentRef`, attributes to match.
/// - Returns: `errSecSuccess`, `errSecItemNotFound`, or as ``SecItemAdd(_:_:)``.
@_disfavoredOverload
@discardableResult
public func SecItemDelete(_ query: [String: Any]) -> OSStatus {
    status { () throws(KeychainFailure) in try SecItemService.ofThisProcess.delete(query) }
}

/// Says in words what `status` means; "OSStatus" with the number for codes that are not known.
///
/// - Parameter reserved: Without effect; pass nil.
@_disfavoredOverload
public func SecCopyErrorMessageString(
    _ status: OSStatus, _ reserved: UnsafeMutableRawPointer?
) -> String? {
    StatusMessage.text(for: status) ?? "OSStatus \(status)"
}

/// Overwrites `count` bytes with random ones that are fit for keys.
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

/// A source of random bytes. There is one, and nobody holds it.
public final class SecRandom: Sendable {
    private init() {}
}

/// A source of random bytes, by the name that code for Apple's systems has for it.
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

/// Does `body`; what fails is remembered, and its code returned.
private func status(_ body: () throws(KeychainFailure) -> Void) -> OSStatus {
    do {
        try body()
        return errSecSuccess
    } catch {
        KeychainFailure.last = error
        return error.status
    }
}
