// SPDX-License-Identifier: Apache-2.0

public import Foundation
package import ValetKeychainModel

/// When an item may be read, and which proofs it requires (`kSecAttrAccessControl`).
///
/// Two are equal when they mean the same.
public final class SecAccessControl: NSObject, Sendable {
    package let content: AccessControl
    /// Whether its class is `kSecAttrAccessibleUntilReboot`, which no item can have
    /// (spec/secitem.md §1.3); the class of ``content`` stands in for it.
    let isUntilReboot: Bool

    /// The object for `content`, without the fingers that the keychain has bound it to.
    package init(_ content: AccessControl) {
        self.content = content.unbound
        isUntilReboot = false
    }

    init(untilReboot constraints: AccessControl.Constraints) throws(KeychainFailure) {
        content = try AccessControl(.whenUnlocked, constraints)
        isUntilReboot = true
    }

    /// Whether `object` is an access control that means the same.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecAccessControl else { return false }
        return content == other.content && isUntilReboot == other.isUntilReboot
    }

    /// Equal for access controls that mean the same.
    public override var hash: Int { content.hashValue }

    /// The class and the demands of each operation, in the words of `CFCopyDescription`.
    public override var description: String {
        isUntilReboot
            ? content.description(ofClass: kSecAttrAccessibleUntilReboot as String)
            : content.description
    }
}

/// The type id of access controls.
public func SecAccessControlGetTypeID() -> UInt { 0x5341_4354 }

// The call has the shape of Apple's, with a pointer to its error.

/// An allocator of memory. Calls take nil; the only instance frees nothing.
public final class CFAllocator: Sendable {
    package static let null = CFAllocator()

    private init() {}
}

/// Makes an access control (spec/secitem.md §10.2). It may demand what this machine does not have:
/// the call does not check.
///
/// - Parameters:
///   - allocator: Without effect; pass nil.
///   - protection: One of the `kSecAttrAccessible…` values; no item takes an object that was made
///     with `kSecAttrAccessibleUntilReboot`.
///   - flags: What the user has to prove; an empty set demands nothing.
///   - error: Set to an error of the domain of `OSStatus` values when nil is returned; the caller
///     releases it.
/// - Returns: nil, and `errSecParam`, for another protection, and for flags that contradict each
///   other.
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: AnyObject, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<NSError>?>?
) -> SecAccessControl? {
    let code = protection as? String ?? ""
    let protectionClass = ProtectionClass(code: code)
    guard protectionClass != nil || code == kSecAttrAccessibleUntilReboot as String else {
        unsafe refuse("the protection is not one of the kSecAttrAccessible… values", error)
        return nil
    }
    do {
        guard let protectionClass else {
            return try SecAccessControl(untilReboot: flags.constraints)
        }
        return SecAccessControl(try AccessControl(protectionClass, flags.constraints))
    } catch _ {
        unsafe refuse("these flags contradict each other", error)
        return nil
    }
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
    var constraints: AccessControl.Constraints {
        AccessControl.Constraints(rawValue: UInt32(truncatingIfNeeded: rawValue))
    }
}

/// What the user has to prove before an item can be read (spec/secitem.md §10.1).
///
/// Without ``or``, all constraints have to be met.
public struct SecAccessControlCreateFlags: OptionSet, Hashable, Sendable {
    /// The bits, as Apple's systems number them.
    public let rawValue: UInt

    /// The flags whose bits are set.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// A fingerprint or the keychain's passcode; goes with no other constraint.
    public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)
    /// Any finger that is enrolled when the item is read.
    public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)
    /// A finger, as long as the enrolled fingers are the same as when the item was added.
    public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)
    /// The keychain's passcode.
    public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)
    /// Another device of the user. Linux does not support it, so it is never met.
    public static let companion = SecAccessControlCreateFlags(rawValue: 1 << 5)
    /// One of the constraints suffices.
    public static let or = SecAccessControlCreateFlags(rawValue: 1 << 14)
    /// All constraints have to be met.
    public static let and = SecAccessControlCreateFlags(rawValue: 1 << 15)
    /// The constraints are for the use of a private key, not for passwords.
    public static let privateKeyUsage = SecAccessControlCreateFlags(rawValue: 1 << 30)
    /// An application password is needed as well, whatever ``and`` and ``or`` join. It comes from
    /// the `LAContext` (`setCredential(_:type:)`), or else the user is asked for it.
    public static let applicationPassword = SecAccessControlCreateFlags(rawValue: 1 << 31)

    /// The older name of ``biometryAny``.
    public static let touchIDAny = biometryAny
    /// The older name of ``biometryCurrentSet``.
    public static let touchIDCurrentSet = biometryCurrentSet
    /// The older name of ``companion``.
    public static let watch = companion
}
