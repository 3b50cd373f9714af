// SPDX-License-Identifier: Apache-2.0

import ValetTestValues

@testable import ValetBackup

extension Vector {
    /// All vectors of one operation of this module, which are at least one.
    static func backup(_ operation: String) throws -> [Vector] {
        try all("backup", operation)
    }

    /// Runs `body`, which must do what the file says: end well, or throw such a code.
    func check(_ body: () throws -> Void) throws {
        try check({ (error: BackupError) in error.outcome }, body)
    }
}

extension BackupError {
    fileprivate var outcome: Vector.Outcome? {
        switch code {
        case .wrongPassphrase: .wrongSecret
        case .damaged: .tampered
        case .notABackup, .truncated: .malformed
        case .newer: .unsupported
        default: nil
        }
    }
}
