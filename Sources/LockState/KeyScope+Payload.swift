// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing

/// Each scope has a payload of its own: docs/FORMAT.md §10.4.
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

    /// What the names of the payloads of a keychain, or of all, begin with; of the form of before
    /// there were sharing files, too, which nobody reads any more.
    static func namePrefixes(of keychainID: KeychainID?) -> [String] {
        ["valet:2:", "valet:1:"].map { prefix in keychainID.map { "\(prefix)\($0):" } ?? prefix }
    }

    /// A new name for a payload in the kernel. It proves nothing, and is random so that none takes
    /// the place of another.
    func randomName(of keychainID: KeychainID) -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        let padding = String(repeating: "0", count: 16 - digits.count)
        return "valet:2:\(keychainID):\(Character(Unicode.Scalar(tag))):\(padding)\(digits)"
    }

    /// Whether `name` is that of a payload of this scope.
    func isNamed(by name: String) -> Bool {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count >= 4 && parts[3] == String(Character(Unicode.Scalar(tag)))
    }
}
