// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeybag
internal import ValetSealing

/// The device secret that a TPM gave out last, for a process that needs it again: asking the TPM
/// takes long. Of a keychain with a passcode only its id is kept, since nothing but the next unlock
/// needs the secret.
final class KeptDeviceSecret: Sendable {
    private struct Contents: ~Copyable {
        var keyID: KeyID?
        var secret: DeviceSecret?
    }

    private let contents = Mutex(Contents())

    /// Whether the TPM gave out the secret of that id.
    func knows(_ keyID: KeyID) -> Bool {
        contents.withLock { $0.keyID == keyID }
    }

    /// Whether the secret of that id is here.
    func has(_ keyID: KeyID) -> Bool {
        contents.withLock { contents in
            switch contents.secret {
            case .none: false
            case .some: contents.keyID == keyID
            }
        }
    }

    /// A copy of the secret of that id; nil if it is not here.
    func secret(_ keyID: KeyID) -> DeviceSecret? {
        contents.withLock { contents in
            guard contents.keyID == keyID else { return nil }
            switch contents.secret {
            case .none: return nil
            case .some(let secret): return secret.copied
            }
        }
    }

    /// Keeps a secret of a keychain without a passcode, or the id of another.
    func keep(_ secret: borrowing DeviceSecret, of protector: ProtectorKind) {
        contents.withLock { contents in
            contents.keyID = secret.id
            contents.secret = nil
            if protector == .device { contents.secret = secret.copied }
        }
    }
}

extension DeviceSecret {
    /// The same key once more. It never is nil, since the bytes are those of a key.
    fileprivate var copied: DeviceSecret? {
        withBytes { bytes in try? DeviceSecret(copying: bytes) }
    }
}
