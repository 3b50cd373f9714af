// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import ValetKeychainServices
internal import ValetSecItem

// The four calls with the dictionaries that code for Apple's systems passes. What each does and
// returns is documented at the call of the same name that takes a Swift dictionary.

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
    _ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus {
    unsafe SecItemAdd(attributes.request, result)
}

/// Finds items: one unless `kSecMatchLimit` says otherwise (spec/secitem.md §3).
///
/// - Parameters:
///   - query: `kSecClass` or `kSecValuePersistentRef`, attributes to match, what to return.
///   - result: Set on success to `NSData`, `NSDictionary` or `NSArray`; untouched on failure.
/// - Returns: `errSecSuccess`, `errSecItemNotFound`, or as `SecItemAdd`.
@discardableResult
public func SecItemCopyMatching(
    _ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus {
    unsafe SecItemCopyMatching(query.request, result)
}

/// Changes every item that matches, or none (spec/secitem.md §6).
///
/// - Parameters:
///   - query: `kSecClass` or `kSecValuePersistentRef`, attributes to match.
///   - attributesToUpdate: Attributes and `kSecValueData`; what it lacks stays as it is.
/// - Returns: `errSecSuccess`, `errSecItemNotFound`, `errSecDuplicateItem`, or as
///   `SecItemAdd`.
@discardableResult
public func SecItemUpdate(
    _ query: CFDictionary, _ attributesToUpdate: CFDictionary
) -> OSStatus {
    SecItemUpdate(query.request, attributesToUpdate.request)
}

/// Deletes every item that matches (spec/secitem.md §7).
///
/// - Parameter query: `kSecClass` or `kSecValuePersistentRef`, attributes to match.
/// - Returns: `errSecSuccess`, `errSecItemNotFound`, or as `SecItemAdd`.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    SecItemDelete(query.request)
}

/// Like `SecItemAdd`, for a result that the caller releases.
@_disfavoredOverload
@discardableResult
public func SecItemAdd(
    _ attributes: CFDictionary, _ result: UnsafeMutablePointer<Unmanaged<AnyObject>?>?
) -> OSStatus {
    unsafe retaining(result) { unsafe SecItemAdd(attributes.request, $0) }
}

/// Like `SecItemCopyMatching`, for a result that the caller releases.
@_disfavoredOverload
@discardableResult
public func SecItemCopyMatching(
    _ query: CFDictionary, _ result: UnsafeMutablePointer<Unmanaged<AnyObject>?>?
) -> OSStatus {
    unsafe retaining(result) { unsafe SecItemCopyMatching(query.request, $0) }
}

private func retaining(
    _ result: UnsafeMutablePointer<Unmanaged<AnyObject>?>?,
    _ call: (UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus
) -> OSStatus {
    guard let result = unsafe result else { return call(nil) }
    var object: CFTypeRef?
    let status = unsafe call(&object)
    if status == errSecSuccess { unsafe result.pointee = object.map(Unmanaged.passRetained) }
    return status
}

/// Says in words what `status` means; "OSStatus" with the number for unknown codes.
///
/// - Parameter reserved: Without effect; pass nil.
public func SecCopyErrorMessageString(
    _ status: OSStatus, _ reserved: UnsafeMutableRawPointer?
) -> CFString? {
    let text: String? = unsafe SecCopyErrorMessageString(status, reserved)
    return text.map { NSString(string: $0) }
}

extension NSDictionary {
    /// The dictionary as the calls read it. A key that is no text becomes one that no call knows,
    /// so that the call is refused.
    fileprivate var request: [String: Any] {
        var request: [String: Any] = [:]
        request.reserveCapacity(count)
        for (key, value) in self {
            request[key as? String ?? "key of type \(type(of: key))"] = value
        }
        return request
    }
}
