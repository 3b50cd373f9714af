// SPDX-License-Identifier: Apache-2.0

extension CloudAccessibility: CustomStringConvertible {
    /// The same protection as a local valet has it.
    public var accessibility: Accessibility {
        switch self {
        case .whenUnlocked: .whenUnlocked
        case .afterFirstUnlock: .afterFirstUnlock
        }
    }

    /// The description of the matching ``Accessibility``.
    public var description: String { accessibility.description }

    /// The value of the `kSecAttrAccessible…` constant of the same name.
    public var secAccessibilityAttribute: String { accessibility.secAccessibilityAttribute }
}
