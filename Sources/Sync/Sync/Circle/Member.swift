// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// The public keys of a device, or of the paper key, in a circle: docs/SYNC.md §3.
///
/// A value of this type has a valid proof, and keys whose agreements are not zero.
package struct Member: Hashable, Sendable {
    /// The source of the secret halves: a device's sync secrets, or the seed of the recovery key.
    package enum Kind: UInt8, Hashable, Sendable {
        case device = 1
        case recovery = 2
    }

    package let kind: Kind
    /// Verifies messages of scope `f`.
    package let signF: SigningKey
    /// Verifies messages of scope `u` and roster entries.
    package let signU: SigningKey
    /// Receives the keys of scope `f`.
    package let agreeF: PublicKey
    /// Receives the keys of scope `u`.
    package let agreeU: PublicKey
    private let proof: Signature
    /// Names the member. It follows from the keys and the circle.
    package let id: DeviceID

    /// Makes the member and its proof from its identities of both scopes in one circle.
    package init(_ kind: Kind, _ f: borrowing ScopeIdentity, _ u: borrowing ScopeIdentity) {
        precondition(
            f.scope == .afterFirstUnlock && u.scope == .whileUnlocked && f.circle == u.circle,
            "a member has one identity of each scope")
        self.kind = kind
        (signF, signU) = (f.signing.publicKey, u.signing.publicKey)
        (agreeF, agreeU) = (f.agreement.publicKey, u.agreement.publicKey)
        let fields = Self.fields(kind, [signF, signU], [agreeF, agreeU])
        proof = u.signing.signature(.syncMember, of: (f.circle.bytes + fields).span)
        id = Self.id(f.circle, [signF, signU], [agreeF, agreeU])
    }

    /// Reads a member of `circle`, which is zero in the first entry of a roster.
    ///
    /// - Throws: The reader's error; ``SyncError``: `malformed`, `operation`, for an unknown kind;
    ///   `tampered`: `signature`, `agreement`.
    init(from reader: inout ByteReader<SyncError>, circle: CircleID) throws(SyncError) {
        guard let kind = Kind(rawValue: try reader.integer()) else {
            throw SyncError(.malformed, .operation, in: .member)
        }
        self.kind = kind
        (signF, signU, agreeF, agreeU, proof) = try reader.fields()
        let fields = Self.fields(kind, [signF, signU], [agreeF, agreeU])
        guard proof.isValid(.syncMember, of: (circle.bytes + fields).span, by: signU) else {
            throw SyncError(.tampered, .signature, in: .member)
        }
        guard agreeF.isFit, agreeU.isFit else {
            throw SyncError(.tampered, .agreement, in: .member)
        }
        id = Self.id(circle, [signF, signU], [agreeF, agreeU])
    }

    package var bytes: [UInt8] {
        Self.fields(kind, [signF, signU], [agreeF, agreeU]) + proof.bytes
    }

    package func signingKey(_ scope: KeyScope) -> SigningKey {
        scope == .whileUnlocked ? signU : signF
    }

    private static func fields(
        _ kind: Kind, _ signing: [SigningKey], _ agreement: [PublicKey]
    ) -> [UInt8] {
        [kind.rawValue] + signing.flatMap { $0.bytes } + agreement.flatMap { $0.bytes }
    }

    private static func id(
        _ circle: CircleID, _ signing: [SigningKey], _ agreement: [PublicKey]
    ) -> DeviceID {
        let digest = UnkeyedHash.digest(.syncDevice) { hash in
            hash.append(circle.bytes)
            for key in signing { hash.append(key) }
            for key in agreement { hash.append(key) }
        }
        return SyncHash(digest).half()
    }
}

extension LogID {
    /// A new log of `device`: `random` is new, and `foreign` has the hashes of the messages that
    /// made a new log necessary, if any (docs/SYNC.md §5).
    package init(of device: DeviceID, random: HedgeBytes, foreign: [SyncHash]) {
        let digest = UnkeyedHash.digest(.syncLog) { hash in
            hash.append(random)
            hash.append(foreign.flatMap(\.bytes))
        }
        self.init(high: device.high, low: SyncHash(digest).first)
    }
}

/// The pairs of keys that a member of a circle has in one scope, made from its sync secret:
/// docs/SYNC.md §2.
///
/// While the keychain is locked, a device has its identity of scope `f` only. The device that
/// founds a circle makes its pairs before the circle has an id, and keeps them. Their ``circle`` is
/// zero.
package struct ScopeIdentity: ~Copyable, Sendable {
    package let scope: KeyScope
    /// The circle that the pairs were made for; zero for the founder's.
    package let circle: CircleID
    /// Signs messages, and in scope `u` roster entries.
    package let signing: SigningPair
    /// Opens the circle's keys.
    package let agreement: KeyAgreementPair

    package init(_ secret: borrowing SyncSecret, _ scope: KeyScope, circle: CircleID) {
        (self.scope, self.circle) = (scope, circle)
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
