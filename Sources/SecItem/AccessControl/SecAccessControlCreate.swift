// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainModel

// The call in the shape it has on Apple's systems, with the pointer to its error.

/// What memory comes from. No instance exists: calls take nil.
public final class CFAllocator: Sendable {
    private init() {}
}

/// Makes an access control (spec/secitem.md §10.2). Nothing is looked up: it may ask for what
/// this machine does not have.
///
/// - Parameters:
///   - allocator: Without effect; pass nil.
///   - protection: One of the `kSecAttrAccessible…` values; no item takes an object that was made
///     with `kSecAttrAccessibleUntilReboot`.
///   - flags: What a person has to prove; none is nothing.
///   - error: Set to an error of the domain of `OSStatus` values when nil is returned; the caller
///     releases it.
/// - Returns: nil, and `errSecParam`, for another protection, and for flags that contradict each
///   other.
@_disfavoredOverload
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: String, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<NSError>?>?
) -> SecAccessControl? {
    let protectionClass = ProtectionClass(code: protection)
    guard protectionClass != nil || protection == kSecAttrAccessibleUntilReboot else {
        unsafe refuse("the protection is not one of the kSecAttrAccessible… values", error)
        return nil
    }
    do throws(AccessControl.Contradiction) {
        guard let protectionClass else {
            return try SecAccessControl(untilReboot: flags.constraints)
        }
        return SecAccessControl(try AccessControl(protectionClass, flags.constraints))
    } catch _ {
        unsafe refuse("these flags contradict each other", error)
        return nil
    }
}

/// As the other, for a protection that is an object.
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: AnyObject, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<NSError>?>?
) -> SecAccessControl? {
    let code = protection as? String ?? ""
    return unsafe SecAccessControlCreateWithFlags(allocator, code, flags, error)
}

private func refuse(
    _ message: String, _ error: UnsafeMutablePointer<Unmanaged<NSError>?>?
) {
    let failure = NSError(
        domain: NSOSStatusErrorDomain, code: Int(errSecParam),
        userInfo: [NSLocalizedDescriptionKey: message])
    unsafe error?.pointee = Unmanaged.passRetained(failure)
}

extension SecAccessControlCreateFlags {
    /// The bits that mean something.
    var constraints: AccessControl.Constraints {
        AccessControl.Constraints(rawValue: UInt32(truncatingIfNeeded: rawValue))
    }
}
