// SPDX-License-Identifier: Apache-2.0

package import ValetSealing
package import ValetSystem

/// The cost of one try of a passcode.
package enum PasscodeStretching: Sendable {
    /// About 250 ms of processor time on this machine, measured when the passcode is set.
    case calibrated
    /// The least that is ever used: 64 MiB and 3 passes.
    case lowest
}

extension PasscodeStretching {
    /// The cost of Argon2id for this choice.
    package func cost() throws(SystemError) -> Argon2Cost {
        #if LOWEST_COST
            guard Environment.ofProcess.value("VALET_TEST_CALIBRATES") != nil else {
                return .ofTests
            }
        #endif
        return switch self {
        case .lowest: .lowest
        case .calibrated:
            try PassphraseKDF.calibratedCost(
                memoryByteCount: MachineMemory.usableByteCount, on: ThreadTimeClock())
        }
    }
}
