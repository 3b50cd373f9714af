// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension LockStateError {
    /// Translates an error number of add_key(2) or keyctl(2).
    init(errno number: Int32, during operation: Operation) {
        let code: Code =
            switch number {
            // ENOENT: a key is not linked where it was to be unlinked.
            case ENOKEY, ENOENT: .keyNotFound
            case EKEYEXPIRED: .expired
            case EKEYREVOKED: .revoked
            // ENFILE: the keyring holds as many keys as it can.
            case EDQUOT, ENFILE: .quotaExceeded
            case EPERM, EACCES, ENOSYS, EOPNOTSUPP: .refused
            default: .other
            }
        self.init(code, during: operation, systemError: number)
    }

    /// Whether the key is gone for good, and what took its place has to be looked for.
    var meansGone: Bool {
        switch code {
        case .keyNotFound, .expired, .revoked: true
        default: false
        }
    }
}
