// SPDX-License-Identifier: Apache-2.0

/// A name space of items that one or more applications share (`kSecAttrAccessGroup`).
package struct AccessGroup: Hashable, Sendable {
    /// The name, as entitlements spell it.
    package let rawValue: String

    /// The group of that name. Names compare exactly (keychain-semantics §5.1).
    package init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// Byte by byte: two texts that Swift calls equal may name two groups.
    package static func == (left: AccessGroup, right: AccessGroup) -> Bool {
        left.rawValue.utf8.elementsEqual(right.rawValue.utf8)
    }

    /// The group that tokens own; passwords can never be stored in it.
    package static let token = AccessGroup("com.apple.token")
}
