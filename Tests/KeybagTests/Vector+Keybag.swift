// SPDX-License-Identifier: Apache-2.0

import ValetTestValues

@testable import ValetKeybag

extension Vector {
    /// Runs `body`, which must do what the file says: end well, or throw that very code.
    func check(_ body: () throws -> Void) throws {
        try check({ (error: KeybagError) in error.code.outcome }, body)
    }
}

extension KeybagError.Code {
    fileprivate var outcome: Vector.Outcome? {
        switch self {
        case .malformed, .mistypedRecoveryKey: .malformed
        case .newer: .unsupported
        case .tampered: .tampered
        case .wrongDeviceSecret: .wrongSecret
        case .wrongPasscode: .wrongPasscode
        case .wrongRecoveryKey: .wrongRecoveryKey
        case .noRecoveryKey: .noRecoveryKey
        case .needsProtector: .needsProtector
        case .emptyPasscode, .passcodeTooLong, .outOfMemory: nil
        }
    }
}
