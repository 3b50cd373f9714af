// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeys
internal import ValetSystem

/// Proof that the user gave the passcode or a finger, with the secrets that it opens.
///
/// Only ``ItemStore`` makes one. It opens items as long as it lives, and is wiped with its last
/// owner. After a key change it does not open the new keys, and the store asks again. A lock of
/// the keychain does not end it, but removes the class keys that items of the classes
/// `whenUnlocked…` need as well.
package final class PresenceProof: Sendable {
    /// The factors that the user gave.
    package let factors: AccessControl.Factors
    /// The fingers that were enrolled on a reader when one of them matched there.
    package let enrolments: Set<[UInt8]>
    /// The opened pairs, by epoch.
    package let keys: [PresenceKeys]
    /// The values for which this proof is known to suffice, by the tag of part V.
    private let granted = Lock<Set<PartTag>>([])

    private static let grantedCapacity = 1024

    /// A proof of what the user gave, with the pairs of keys that it opens.
    package init(
        _ factors: AccessControl.Factors, enrolments: Set<[UInt8]> = [], keys: [PresenceKeys]
    ) {
        self.factors = factors
        self.enrolments = enrolments
        self.keys = keys
    }

    /// Both proofs in one, for items that require the passcode and a finger.
    package func adding(_ newer: PresenceProof) -> PresenceProof {
        PresenceProof(
            factors.union(newer.factors), enrolments: enrolments.union(newer.enrolments),
            keys: newer.keys + keys)
    }

    /// Notes that this proof suffices for the value whose part V has this tag, until the value is
    /// written again.
    package func grant(_ tag: PartTag) {
        granted.withLock { granted in
            if granted.count < Self.grantedCapacity { granted.insert(tag) }
        }
    }

    /// Whether this proof is known to suffice for the value whose part V has this tag.
    package func hasGranted(_ tag: PartTag) -> Bool {
        granted.withLock { $0.contains(tag) }
    }

    /// Whether this meets what `accessControl` demands. Fingers of another set of enrolled fingers
    /// do not count.
    package func satisfies(_ accessControl: AccessControl) -> Bool {
        accessControl.demand.isMet(by: factors(for: accessControl))
    }

    /// The factors that count for an item with `accessControl`. If the item is bound to fingers,
    /// only one of those counts.
    package func factors(for accessControl: AccessControl) -> AccessControl.Factors {
        guard let bound = accessControl.enrolment, !enrolments.contains(bound) else {
            return factors
        }
        return factors.subtracting(.fingerprint)
    }
}
