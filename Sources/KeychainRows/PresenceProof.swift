// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
package import ValetKeybag
package import ValetKeychainModel

/// That a person was there: what they have shown, and the secrets which that opens.
///
/// Made by ``ItemStore`` alone, of what a person gave. It opens items for as long as it lives, and
/// is wiped with its last owner; after a change of keys it opens those that are new no longer, and
/// the store asks again. Locking the keychain does not end it, but takes away other keys that every
/// item takes, too.
package final class PresenceProof: Sendable {
    /// What was shown.
    package let factors: AccessControl.Factors
    /// The fingers that were enrolled on a reader when one of them matched there.
    package let enrolments: Set<[UInt8]>
    /// The opened pairs, by epoch.
    package let keys: [PresenceKeys]
    /// Values that this was found to be enough for, by the tag of part V.
    private let granted = Mutex<Set<PartTag>>([])

    private static let grantedCapacity = 1024

    /// A proof of what was shown, with the pairs of keys that it opens.
    package init(
        _ factors: AccessControl.Factors, enrolments: Set<[UInt8]> = [], keys: [PresenceKeys]
    ) {
        self.factors = factors
        self.enrolments = enrolments
        self.keys = keys
    }

    /// Both proofs in one: what takes passcode and finger takes both.
    package func adding(_ newer: PresenceProof) -> PresenceProof {
        PresenceProof(
            factors.union(newer.factors), enrolments: enrolments.union(newer.enrolments),
            keys: newer.keys + keys)
    }

    /// Notes that this was enough for the value with that seal; until it is written anew it is.
    package func grant(_ tag: PartTag) {
        granted.withLock { granted in
            if granted.count < Self.grantedCapacity { granted.insert(tag) }
        }
    }

    /// Whether this is known to be enough for the value with that seal.
    package func hasGranted(_ tag: PartTag) -> Bool {
        granted.withLock { $0.contains(tag) }
    }

    /// Whether this meets what `accessControl` demands, fingers of another enrolment left out.
    package func satisfies(_ accessControl: AccessControl) -> Bool {
        accessControl.demand.isMet(by: factors(for: accessControl))
    }

    /// What of this counts for an item with `accessControl`: one that is bound to fingers takes one
    /// of those.
    package func factors(for accessControl: AccessControl) -> AccessControl.Factors {
        guard let bound = accessControl.enrolment, !enrolments.contains(bound) else {
            return factors
        }
        return factors.subtracting(.fingerprint)
    }
}
