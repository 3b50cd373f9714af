// SPDX-License-Identifier: Apache-2.0

public import Foundation
package import KeychainModel

/// When an item may be read, and who has to be there (`kSecAttrAccessControl`).
///
/// Two are equal when they mean the same.
public final class SecAccessControl: NSObject, Sendable {
    /// What it says.
    package let content: AccessControl

    /// The object that says `content`; fingers that it was bound to are the keychain's concern.
    package init(_ content: AccessControl) {
        self.content = content.unbound
    }

    /// Whether `object` is an access control that means the same.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecAccessControl else { return false }
        return content == other.content
    }

    /// Equal for access controls that mean the same.
    public override var hash: Int { content.hashValue }

    /// The class and what each operation takes, as `CFCopyDescription` words it.
    public override var description: String { content.description }
}

/// The number of the type of access controls.
public func SecAccessControlGetTypeID() -> CFTypeID { 0x5341_4354 }
