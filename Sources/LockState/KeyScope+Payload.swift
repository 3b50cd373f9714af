// SPDX-License-Identifier: Apache-2.0

internal import Keybag
internal import KeychainModel
internal import Sealing

/// Each scope has a payload of its own: docs/FORMAT.md §10.
extension KeyScope {
    /// The byte that names the scope in a payload: `u` or `f`.
    var tag: UInt8 {
        switch self {
        case .whileUnlocked: 0x75
        case .afterFirstUnlock: 0x66
        }
    }

    /// The scope of that byte; nil for any other byte.
    init?(tag: UInt8) {
        guard let scope = Self.allCases.first(where: { $0.tag == tag }) else { return nil }
        self = scope
    }

    /// The classes whose keys there can be, in the order of their numbers.
    var classes: [ProtectionClass] { ProtectionClass.allCases.filter { $0.scope == self } }

    /// Those that have to be there, which are the first ones: recovery opens no key of the class
    /// that needs a passcode.
    var requiredClasses: [ProtectionClass] {
        classes.filter { $0 != .whenPasscodeSetThisDeviceOnly }
    }

    /// What the names of all payloads of all keychains begin with.
    static let descriptionPrefix = "valet:1:"

    /// What the names of the payloads of all keychains end with.
    var descriptionSuffix: String { ":\(Character(Unicode.Scalar(tag)))" }

    /// The name of the payload of a keychain in the user keyring.
    func description(of keychainID: KeychainID) -> String {
        "\(Self.descriptionPrefix)\(keychainID)\(descriptionSuffix)"
    }
}
