// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSecretMemory

/// The authorization value of a TPM's owner, from 1 to 64 bytes; it lies in guarded memory, is
/// wiped with the last that holds it, and is stored nowhere.
package final class OwnerAuthorization: Sendable {
    /// What a TPM takes at most: a digest of SHA-512.
    private static let maximalByteCount = 64

    let value: SecretBytes

    /// That of an owner who has none.
    static let empty = OwnerAuthorization()

    /// Takes over what was given, without the end of the line.
    ///
    /// - Throws: ``KeychainFailure/Code/invalidRequest`` for no bytes or too many.
    package init(_ given: consuming SecretBytes) throws(KeychainFailure) {
        guard (1...Self.maximalByteCount).contains(given.byteCount) else {
            throw KeychainFailure(
                .invalidRequest, during: "take the authorization of the TPM's owner",
                message: "it has from 1 to \(Self.maximalByteCount) bytes")
        }
        value = given
    }

    private init() { value = SecretBytes(byteCount: 0) }
}

/// What is wanted of the TPM that keeps, or is to keep, a device secret.
package struct TPMTerms: Sendable {
    /// The numbers of its registers that must be as they are now for it to give out the device
    /// secret; nil for none, or without a move for those that there are.
    package var pcrs: [Int]?
    /// Whether, with a move to the TPM, it is to keep an erasure secret, too.
    package var keepsErasureSecret: Bool
    /// What its owner has to give for erasure secrets; nil for an owner who has no value.
    package var owner: OwnerAuthorization?

    /// By default nothing but what every TPM gives everybody.
    package init(
        pcrs: [Int]? = nil, keepsErasureSecret: Bool = false, owner: OwnerAuthorization? = nil
    ) {
        self.pcrs = pcrs
        self.keepsErasureSecret = keepsErasureSecret
        self.owner = owner
    }
}

/// What is to become of a keychain's erasure secret: docs/FORMAT.md §4.9.
enum ErasureWish {
    /// A new one takes its place if the owner's authorization is at hand or not needed; else it
    /// stays, and so does none.
    case asBefore(OwnerAuthorization?)
    /// There is to be one.
    case required(OwnerAuthorization?)
    /// There is to be none, and the last is to be destroyed.
    case dropped(OwnerAuthorization?)
    /// There is to be none, whatever becomes of the last.
    case abandoned

    /// What the owner gave.
    var owner: OwnerAuthorization? {
        switch self {
        case .asBefore(let owner), .required(let owner), .dropped(let owner): owner
        case .abandoned: nil
        }
    }
}
