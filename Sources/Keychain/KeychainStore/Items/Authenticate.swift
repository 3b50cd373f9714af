// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
internal import ValetSystem

/// Proofs of the user's presence: spec/secitem.md §10.
extension ItemStore {
    fileprivate static let proving = "authenticate"

    /// The proof that the passcode gives. Takes as long as stretching the passcode. Does not unlock
    /// the keychain.
    ///
    /// - Parameter typed: The bytes that were typed, without the end of the line; copied.
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a wrong passcode, after a pause
    ///   that grows with each try; `invalidRequest` for an empty or too long passcode;
    ///   `passcodeNotSet`, `itemNotFound` if there is no keychain, `keyUnavailable`, `incomplete`,
    ///   `timedOut`, `outOfMemory`.
    package func presenceProof(
        passcode typed: borrowing SecretBytes
    ) throws(KeychainFailure) -> PresenceProof {
        let passcode = try Passcode(typed.withBytes { SecretBytes(copying: $0) })
        return try changeKeys(Self.proving) {
            (keys, header) throws(KeychainFailure) -> PresenceProof in
            try header.requirePasscode()
            let protector = try keys.protector(of: header, passcode)
            return try keys.countingWrongPasscodes { () throws(KeychainFailure) in
                try header.proof(with: protector)
            }
        } _: { (_, _, proof) in
            proof
        }
    }

    /// The proof of a user whose finger has just matched. The caller must verify the match, because
    /// no key depends on a finger.
    ///
    /// - Parameter enrolment: The fingers that were enrolled at the match, as ``Authenticator``s
    ///   report them.
    /// - Throws: ``KeychainFailure``: `locked` unless the keychain is unlocked, `passcodeNotSet`,
    ///   `itemNotFound` if there is no keychain, `keyUnavailable`, `incomplete`, `timedOut`.
    package func presenceProof(
        fingerprint enrolment: [UInt8]
    ) throws(KeychainFailure) -> PresenceProof {
        let keys = try readRows(Self.proving) { (snapshot) throws(KeychainFailure) in
            let header = snapshot.keys.header
            try header.requirePasscode()
            return try snapshot.state.personKeys(of: header)
        }
        guard let keys else { throw KeychainFailure(.itemNotFound, during: Self.proving) }
        return PresenceProof(.fingerprint, enrolments: [enrolment], keys: keys)
    }
}

extension Keychain {
    /// Whether a proof belongs to this keychain's current keys. After a key change it does not,
    /// and its holder has to ask the user again. Returns true if the keychain is unreadable.
    package func isCurrent(_ proof: PresenceProof) -> Bool {
        let isCurrent = try? store.workOnKeys(ItemStore.proving) { (keys) throws(KeychainFailure) in
            let header = try keys.header()
            return proof.keys.contains {
                $0.keychainID == header.settings.keychainID && $0.epoch == header.keybag.epoch
            }
        }
        return isCurrent ?? true
    }
}

extension KeychainHeader {
    fileprivate func requirePasscode() throws(KeychainFailure) {
        guard lockState == nil else { return }
        throw KeychainFailure(
            .passcodeNotSet, during: ItemStore.proving, message: "there is no passcode",
            hint: "set one with `valet passcode set`")
    }
}

extension RowKeys {
    /// The pair `person`; none if the keychain has no pairs.
    ///
    /// - Throws: ``KeychainFailure``: `locked`; another code if the pair is not that of the keybag.
    fileprivate func personKeys(of header: KeychainHeader) throws(KeychainFailure) -> [PresenceKeys]
    {
        guard try header.keybag.publicKey(of: .person) != nil else { return [] }
        guard let keys = try header.keybag.personKeys(of: epoch.keys) else {
            throw KeychainFailure(.row(.lockedRow), during: ItemStore.proving)
        }
        return [keys]
    }
}
