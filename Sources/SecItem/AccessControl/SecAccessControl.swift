// SPDX-License-Identifier: Apache-2.0

public import Foundation
package import ValetKeychainModel

/// When an item may be read, and what it demands of a person (`kSecAttrAccessControl`).
///
/// Two are equal when they mean the same.
public final class SecAccessControl: NSObject, Sendable {
    /// What it says.
    package let content: AccessControl
    /// Whether its class is `kSecAttrAccessibleUntilReboot`, which no item can have
    /// (spec/secitem.md §1.3); the class of ``content`` stands in for it.
    let isUntilReboot: Bool

    /// The object that says `content`; fingers that it was bound to are the keychain's concern.
    package init(_ content: AccessControl) {
        self.content = content.unbound
        isUntilReboot = false
    }

    /// The object of the class that no item can have.
    init(untilReboot constraints: AccessControl.Constraints) throws(AccessControl.Contradiction) {
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

    /// The class and what each operation takes, as `CFCopyDescription` words it.
    public override var description: String {
        isUntilReboot
            ? content.description(ofClass: kSecAttrAccessibleUntilReboot) : content.description
    }
}

/// The number of the type of access controls.
public func SecAccessControlGetTypeID() -> UInt { 0x5341_4354 }
