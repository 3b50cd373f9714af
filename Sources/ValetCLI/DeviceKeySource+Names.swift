// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// Where a device key comes from, as the command spells it.
extension DeviceKeySource {
    var name: String {
        switch self {
        case .ownFile: "own-file"
        case .credential: "credential"
        case .keyFile: "key-file"
        case .tpm: "tpm"
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
        case .tpm:
            "without this machine's TPM only a recovery key brings the keychain back: "
                + "'valet recovery create' makes one"
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
    /// Where the device key is kept; nil while there is none.
    let place: DeviceKeySource?

    /// What `status` knows of.
    init(_ status: KeychainStatus) {
        hasPasscode = status.lockStateProvider != nil
        place = status.deviceKeySource
    }

    init(hasPasscode: Bool, place: DeviceKeySource?) {
        self.hasPasscode = hasPasscode
        self.place = place
    }

    /// Makes sure that nothing is given up without being asked for.
    ///
    /// - Throws: ``ExitCode/usage`` with what would be lost.
    func check(lowering: Bool, to next: Protection) throws(CLIError) {
        guard !lowering, let place, let nextPlace = next.place else { return }
        if hasPasscode, !next.hasPasscode {
            throw .usage(
                "the keychain would have no passcode any more",
                hint: "'--set-passcode' sets one; '--lower' does without")
        }
        if place != .ownFile, nextPlace == .ownFile {
            throw .usage(
                "the device key would lie beside the keychain, for a thief of the disk",
                hint: "'--lower' does it all the same")
        }
        if place == .tpm, nextPlace != .tpm {
            throw .usage(
                "the TPM would guard the keychain no longer",
                hint: "'--lower' does it all the same")
        }
    }
}
