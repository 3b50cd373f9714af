// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

extension AccessControl {
    /// What it takes to read the item, as `list` shows it; nil if it takes nothing.
    var requirement: String? {
        let names = Self.names.filter { constraints.contains($0.constraint) }.map(\.name)
        guard !names.isEmpty else { return nil }
        return names.joined(separator: constraints.contains(.or) ? " or " : " and ")
    }

    private static let names: [(constraint: Constraints, name: String)] = [
        (.userPresence, "user-presence"), (.biometryAny, "biometry-any"),
        (.biometryCurrentSet, "biometry-current-set"), (.devicePasscode, "device-passcode"),
        (.companion, "companion"), (.applicationPassword, "application-password"),
    ]
}
