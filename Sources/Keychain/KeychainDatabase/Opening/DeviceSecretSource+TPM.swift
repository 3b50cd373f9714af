// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeys
package import ValetSealing
package import ValetSystem
internal import ValetTPM

/// Device secrets and passcode secrets in a TPM: docs/FORMAT.md §4.8.
extension DeviceSecretSource {
    private static let unsealing = "get the device key from the TPM"
    private static let binding = "bind the keychain to the TPM"

    /// The device secret of `keybag`: from the cache, or released by the TPM.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable` if the TPM is missing or is another one;
    ///   `timedOut`, `inputOutput`.
    func unsealedSecret(
        of keybag: LockedKeybag, until deadline: Deadline
    ) throws(KeychainFailure) -> DeviceSecret {
        if let known = kept.secret(keybag.deviceKeyID) { return known }
        let bytes = try asking(Self.unsealing) { () throws(SystemError) in
            let object = try SealedObject(parsing: keybag.tpmDeviceObject ?? [])
            return try location.tpm.unsealDeviceSecret(object, until: deadline)
        }
        let secret: DeviceSecret = try Self.key(bytes, Self.unsealing)
        guard secret.id == keybag.deviceKeyID else {
            throw .wrongDeviceKey(Self.unsealing, path: location.tpm.place.path)
        }
        kept.keep(secret, of: keybag.protector)
        return secret
    }

    /// Makes a new device secret for the epoch after that of `keybag`, sealed by the TPM.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable`, `timedOut`, `inputOutput`.
    func newDeviceSecret(
        _ next: KeyChangeRequest, after keybag: LockedKeybag
    ) throws(KeychainFailure) -> TPMHeldSecret {
        let last = try registers(of: keybag)
        let secret = DeviceSecret.random()
        let bytes = secret.withBytes { SecretBytes(copying: $0) }
        let object = try asking(Self.binding) { () throws(SystemError) in
            try location.tpm.sealDeviceSecret(
                bytes, boundTo: next.registers ?? last, until: Deadline(after: next.patience))
        }
        return TPMHeldSecret(secret: secret, object: object)
    }

    /// Makes a new secret that the TPM releases for the passcode of the next epoch; nil without a
    /// passcode.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable`, `timedOut`, `inputOutput`, `outOfMemory`.
    func newPasscodeShare(_ next: KeyChangeRequest) throws(KeychainFailure) -> TPMPasscodeShare? {
        guard let new = next.passcode else { return nil }
        let cost = try translating(next.stretching.cost(), during: Self.binding)
        let passcode = try StretchedRecord(new, cost: cost)
        let unsealed = TPMPasscodeSecret.random()
        let object = try asking(Self.binding) { () throws(SystemError) in
            try location.tpm.sealPasscodeSecret(
                unsealed.withBytes { SecretBytes(copying: $0) },
                authorization: passcode.authorization, until: Deadline(after: next.patience))
        }
        return TPMPasscodeShare(passcode: passcode, unsealed: unsealed, object: object)
    }

    /// The protector for newly sealed secrets. Passes the device secret to the cache.
    ///
    /// - Throws: Nothing in practice: newly sealed objects have the right form.
    package func protector(
        _ held: consuming TPMHeldSecret, _ share: consuming TPMPasscodeShare?
    ) throws(KeychainFailure) -> Protector {
        let object = held.object.bytes
        switch consume share {
        case .none:
            kept.keep(held.secret, of: .device)
            return try Protector(held.intoSecret(), object: object)
        case .some(let share):
            kept.keep(held.secret, of: .tpmAndPasscode)
            return try share.protector(held.intoSecret(), object: object)
        }
    }

    /// The PCRs that the device secret of `keybag` is bound to, in rising order; none without a
    /// TPM.
    ///
    /// - Throws: ``KeychainFailure/Code/keychainDamaged``.
    package func pcrs(of keybag: LockedKeybag) throws(KeychainFailure) -> [Int] {
        try registers(of: keybag).numbers
    }

    private func registers(of keybag: LockedKeybag) throws(KeychainFailure) -> PCRSelection {
        guard let object = keybag.tpmDeviceObject else { return .none }
        return try asking(Self.binding) { () throws(SystemError) in
            try SealedObject(parsing: object).pcrs
        }
    }

    /// Whether only the TPM itself can keep this program from its secrets. False if an
    /// administrator has to help first, or another try may succeed: then the secrets must not count
    /// as lost.
    package func canUseTPM(_ deadline: Deadline) -> Bool {
        do {
            _ = try location.tpm.status(until: deadline)
            return true
        } catch {
            switch error.code {
            case .notBuilt, .libraryAbsent, .noPermission, .timedOut, .connectionLost: return false
            default: return true
            }
        }
    }

    /// Runs `body`, and turns an error of the TPM into a failure of `operation`.
    func asking<R: ~Copyable>(
        _ operation: String, _ body: () throws(SystemError) -> R
    ) throws(KeychainFailure) -> R {
        do {
            return try body()
        } catch {
            throw KeychainFailure(ofTPM: error, during: operation, path: location.tpm.place.path)
        }
    }

    /// The key in the bytes that the TPM released.
    ///
    /// - Throws: ``KeychainFailure/Code/keyUnavailable`` if they are not a key.
    static func key<P>(
        _ bytes: consuming SecretBytes, _ operation: String
    ) throws(KeychainFailure) -> SymmetricKey<P> {
        do {
            return try SymmetricKey(bytes)
        } catch {
            throw KeychainFailure(
                .keyUnavailable, during: operation, message: "the TPM released no key",
                hint: "run `valet recovery use`")
        }
    }
}

/// A new device secret, with the TPM object that releases it.
package struct TPMHeldSecret: ~Copyable {
    /// The device secret itself.
    package let secret: DeviceSecret
    let object: SealedObject

    consuming func intoSecret() -> DeviceSecret { secret }
}

/// A new secret that a TPM releases for a passcode, with its TPM object.
package struct TPMPasscodeShare: ~Copyable {
    let passcode: StretchedRecord
    let unsealed: TPMPasscodeSecret
    let object: SealedObject

    /// The protector made of this secret and the device secret.
    package consuming func protector(
        _ secret: consuming DeviceSecret, object deviceObject: [UInt8]
    ) throws(KeychainFailure) -> Protector {
        try Protector(
            secret, passcode: passcode, unsealed: unsealed, object: object.bytes,
            deviceObject: deviceObject)
    }
}

/// Caches the device secret that a TPM released last, because asking the TPM takes long. For a
/// keychain with a passcode it keeps only the secret's id: only the next unlock needs the secret.
final class DeviceSecretCache: Sendable {
    private struct Contents: ~Copyable {
        var keyID: KeyID?
        var secret: DeviceSecret?
    }

    private let contents = Lock(Contents())

    /// Whether the TPM has released the secret with this id.
    func knows(_ keyID: KeyID) -> Bool {
        contents.withLock { $0.keyID == keyID }
    }

    /// Whether the cache has the secret with this id.
    func has(_ keyID: KeyID) -> Bool {
        contents.withLock { contents in
            switch contents.secret {
            case .none: false
            case .some: contents.keyID == keyID
            }
        }
    }

    /// A copy of the secret with this id; nil if the cache does not have it.
    package func secret(_ keyID: KeyID) -> DeviceSecret? {
        contents.withLock { contents in
            guard contents.keyID == keyID else { return nil }
            switch contents.secret {
            case .none: return nil
            case .some(let secret): return secret.copied
            }
        }
    }

    /// Keeps the secret of a keychain without a passcode; of any other keychain, only the secret's
    /// id.
    func keep(_ secret: borrowing DeviceSecret, of protector: ProtectorKind) {
        contents.withLock { contents in
            contents.keyID = secret.id
            contents.secret = nil
            if protector == .device { contents.secret = secret.copied }
        }
    }
}

extension DeviceSecret {
    /// A copy; never nil, because the bytes are those of a key.
    fileprivate var copied: DeviceSecret? {
        withBytes { bytes in try? DeviceSecret(copying: bytes) }
    }
}
