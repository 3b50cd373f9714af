// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

/// Why a step of sync cannot be done now, beyond what store and keychain report.
extension KeychainFailure.Code {
    /// No member gave the keys of the circle to this device, or they do not fit.
    package static let noCircleKeys = Self(
        "noCircleKeys", status: -25291, "no device has given the keys of the circle to this one")
    /// The roster changes all the time: try again.
    package static let rosterInMotion = Self(
        "rosterInMotion", status: -25291, "other devices keep changing the circle")
    package static let notAMember = Self(
        "notAMember", status: -25291, "this device is not a member of its circle")
    package static let circleIsFull = Self(
        "circleIsFull", status: -25291,
        "the circle has changed its devices too often to do so again")
    /// A person has to choose between two rosters first.
    package static let undecidedRoster = Self(
        "undecidedRoster", status: -25291,
        "two devices remove each other, and one of them is not yours")
    package static let unsentChanges = Self(
        "unsentChanges", status: -25291, "some changes are not in the store yet")
    /// The round was broken off: the next one goes on.
    package static let roundInterrupted = Self(
        "roundInterrupted", status: -25291, "the work was broken off")

    /// Somebody else has sent a mail, too: the invitation is known to others.
    package static let invitationSeen = Self(
        "invitationSeen", status: -25291, "two devices have used the invitation: nobody joined")
    package static let invitationBroken = Self(
        "invitationBroken", status: -25291, "the other side broke the rules: nobody joined")
    /// The mails of the other side are gone.
    package static let invitationWithdrawn = Self(
        "invitationWithdrawn", status: -25291, "the other device has ended the invitation")

    /// All of them.
    package static let ofCircles: [Self] = [
        .noCircleKeys, .rosterInMotion, .notAMember, .circleIsFull, .undecidedRoster,
        .unsentChanges, .roundInterrupted, .invitationSeen, .invitationBroken,
        .invitationWithdrawn,
    ]

    fileprivate var hintOnCircles: String? {
        switch self {
        case .noCircleKeys: "unlock another device and let it sync, then try again"
        case .rosterInMotion, .roundInterrupted: "try again"
        case .notAMember:
            "'valet sync leave --here' forgets the circle; then it can join again"
        case .circleIsFull: "'valet sync move' founds a new circle with the same items"
        case .undecidedRoster:
            "'valet sync status' names both; 'valet sync distrust' removes one"
        case .unsentChanges:
            "'valet sync status' says why; 'valet sync leave --here' leaves anyway"
        case .invitationSeen, .invitationBroken:
            "invite again, and show the invitation to nobody else"
        case .invitationWithdrawn: "'valet sync invite' there makes another one"
        default: nil
        }
    }
}

extension KeychainFailure {
    /// A step of sync that cannot be done now.
    package static func circle(_ code: Code) -> KeychainFailure {
        KeychainFailure(code, during: "sync", hint: code.hintOnCircles)
    }
}
