// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// What is shown of how people are told apart from thieves: docs/THREAT-MODEL.md, "What each thief
/// gets".
extension StatusReport {
    /// The members of the JSON object that are about it, null without a passcode.
    static let peopleSchema = [
        ("people", "software or tpm: where wrong passcodes are counted; null without a passcode"),
        ("passcodeBound", "how many items open only with the passcode, or null"),
        ("fingerprintGated", "how many items a finger opens, as programs check; or null"),
    ]

    static func peopleFields(_ status: KeychainStatus) -> [Field] {
        let place = CountingPlace(status.level)
        return [
            Field(
                member: "people", label: "People", value: .text(place?.rawValue),
                remark: place?.remark(status.tpm)),
            Field(
                member: "passcodeBound", label: "By passcode",
                value: .number(status.passcodeBoundCount),
                remark: "bound to it: nothing else opens these items"),
            Field(
                member: "fingerprintGated", label: "By finger",
                value: .number(status.fingerprintGatedCount),
                remark: "gated: programs check it, and no key comes from it"),
        ]
    }

    /// Where wrong passcodes are counted.
    private enum CountingPlace: String {
        case software, tpm

        init?(_ level: ProtectionLevel?) {
            switch level {
            case .passcode: self = .software
            case .tpmAndPasscode: self = .tpm
            case .file, .credential, .tpm, nil: return nil
            }
        }

        func remark(_ tpm: TPMSummary?) -> String {
            switch self {
            case .software: "no TPM counts wrong passcodes"
            case .tpm where tpm?.isLockoutResettable == true:
                "it counts wrong passcodes, but its lockout authorization is empty"
            case .tpm: "it counts wrong passcodes"
            }
        }
    }
}
