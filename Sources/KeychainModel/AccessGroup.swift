// SPDX-License-Identifier: Apache-2.0

/// A name space of items that one or more applications share (`kSecAttrAccessGroup`).
package struct AccessGroup: Hashable, Sendable {
    /// The name, as entitlements spell it.
    package let rawValue: String

    /// The group of that name. Names compare exactly (spec/secitem.md §5.1).
    package init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// Byte by byte: two texts that Swift calls equal may name two groups.
    package static func == (left: AccessGroup, right: AccessGroup) -> Bool {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, *) else {
            return left.rawValue.utf8.elementsEqual(right.rawValue.utf8)
        }
        return left.rawValue.utf8.span.isEqual(to: right.rawValue.utf8.span)
    }

    /// The group that tokens own; passwords can never be stored in it.
    package static let token = AccessGroup("com.apple.token")
}

@available(macOS 26, iOS 26, tvOS 26, watchOS 26, *)
extension Span<UInt8> {
    /// Whether both hold the same bytes; for what is not secret.
    fileprivate func isEqual(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }
}
