// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// The pairs of keys that a member of a circle has in one scope, made from its sync secret:
/// docs/SYNC.md §2.
///
/// While the keychain is locked, a device has its identity of scope `f` only. The device that
/// founds a circle makes its pairs before there is an id, and keeps them: its circle is zero.
package struct ScopeIdentity: ~Copyable, Sendable {
    package let scope: KeyScope
    /// The circle that the pairs were made for; zero for the founder's.
    package let circle: CircleID
    /// Signs messages, and in scope `u` roster entries.
    package let signing: SigningPair
    /// Opens the circle's keys.
    package let agreement: KeyAgreementPair

    /// Derives the pairs.
    package init(_ secret: borrowing SyncSecret, _ scope: KeyScope, circle: CircleID) {
        self.scope = scope
        self.circle = circle
        let seed: SymmetricKey<Purpose.SigningSeed> = KeyedHash.derive(from: secret, .syncSign) {
            $0.append(circle.bytes)
        }
        signing = SigningPair(seed: seed)
        agreement = KeyAgreementPair(
            secret: KeyedHash.derive(from: secret, .syncAgree) { $0.append(circle.bytes) })
    }
}

/// The keys that the members of a circle share in one epoch. They are sealed in the roster.
package struct CircleKeys: ~Copyable, Sendable {
    /// The number of the epoch, from 1.
    package let epoch: UInt32
    package let f: CircleKey
    package let u: CircleKey

    package init(epoch: UInt32, f: consuming CircleKey, u: consuming CircleKey) {
        self.epoch = epoch
        self.f = f
        self.u = u
    }

    /// The commitments that prove the keys; the roster has them.
    package var commitments: KeyCommitments { KeyCommitments(f: f.commitment, u: u.commitment) }
}

/// The commitments of one epoch's keys (docs/FORMAT.md §1), not secret.
package struct KeyCommitments: Hashable, Sendable {
    let f: Digest
    let u: Digest

    /// Requires that these are the commitments of `key`, the key of `scope`.
    ///
    /// - Throws: ``SyncError``: `invalid`, `commitment`.
    func check(_ key: borrowing CircleKey, _ scope: KeyScope) throws(SyncError) {
        let commitment = scope == .whileUnlocked ? u : f
        guard key.commitment == commitment else { throw .key(.commitment) }
    }
}
