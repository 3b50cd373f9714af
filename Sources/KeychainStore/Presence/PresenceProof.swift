// SPDX-License-Identifier: Apache-2.0

internal import Keybag
package import KeychainModel
internal import Sealing

/// That a person was there: what they have shown, and the secrets which that opens.
///
/// Made by ``ItemStore`` alone, of what a person gave. It opens items for as long as it lives, and
/// is wiped with its last owner; after a change of keys it opens those that are new no longer, and
/// the store asks again. Locking the keychain does not end it, but takes away other keys that every
/// item takes, too.
package final class PresenceProof: Sendable {
    /// What was shown.
    package let factors: AccessControl.Factors
    /// The fingers that were enrolled when one of them matched; nil if none did.
    package let enrolment: [UInt8]?
    /// The opened pairs, by epoch.
    let keys: [PresenceKeys]

    init(
        _ factors: AccessControl.Factors, enrolment: [UInt8]? = nil, keys: [PresenceKeys]
    ) {
        self.factors = factors
        self.enrolment = enrolment
        self.keys = keys
    }

    /// Both proofs in one: what takes passcode and finger takes both.
    ///
    /// Where both have the same, that of `newer` counts.
    package func adding(_ newer: PresenceProof) -> PresenceProof {
        PresenceProof(
            factors.union(newer.factors), enrolment: newer.enrolment ?? enrolment,
            keys: newer.keys + keys)
    }

    /// Whether this meets what `accessControl` demands, fingers of another enrolment left out.
    package func satisfies(_ accessControl: AccessControl) -> Bool {
        accessControl.demand(enrolled: enrolment).isMet(by: factors)
    }
}
