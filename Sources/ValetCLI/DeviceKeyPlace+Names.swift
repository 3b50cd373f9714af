// SPDX-License-Identifier: Apache-2.0

internal import KeychainStore

/// Where a device key comes from, as the command spells it.
extension DeviceKeyPlace {
    var name: String {
        switch self {
        case .ownFile: "own-file"
        case .credential: "credential"
        case .keyFile: "key-file"
        }
    }

    /// The place of that name.
    init?(name: String) {
        guard let place = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = place
    }

    /// What programs need from now on to find it; nil for nothing.
    func requirement(path: String?) -> String? {
        switch self {
        case .ownFile: nil
        case .credential:
            "every program that uses the keychain must have the systemd credential "
                + "valet.device-key"
        case .keyFile:
            "every program that uses the keychain must have VALET_DEVICE_KEY_FILE="
                + Escaping.printable(path ?? "the path of the file") + " in its environment"
        }
    }
}

/// How well a keychain is protected, as far as a choice can lower it.
struct Protection {
    let hasPasscode: Bool
    /// Whether the device key is kept outside the keychain's own files.
    let isKeyElsewhere: Bool

    /// What `status` knows of; nil for a keychain that is not there.
    init(_ status: KeychainStatus) {
        hasPasscode = status.lockStateProvider != nil
        isKeyElsewhere = status.keychainID != nil && status.deviceKeyPlace != .ownFile
    }

    init(hasPasscode: Bool, isKeyElsewhere: Bool) {
        self.hasPasscode = hasPasscode
        self.isKeyElsewhere = isKeyElsewhere
    }

    /// Makes sure that nothing is given up without being asked for.
    ///
    /// - Throws: ``ExitCode/usage`` with what would be lost.
    func check(lowering: Bool, to next: Protection) throws(CLIError) {
        guard !lowering else { return }
        if hasPasscode, !next.hasPasscode {
            throw .usage(
                "the keychain would have no passcode any more",
                hint: "'--set-passcode' sets one; '--lower' does without")
        }
        if isKeyElsewhere, !next.isKeyElsewhere {
            throw .usage(
                "the device key would lie beside the keychain, for a thief of the disk",
                hint: "'--lower' does it all the same")
        }
    }
}
