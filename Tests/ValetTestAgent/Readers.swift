// SPDX-License-Identifier: Apache-2.0

import ValetFingerprint
import ValetSystem

/// Looks for a fingerprint reader as an application would.
enum Readers {
    /// `found`, or the error's code.
    static func find() -> String {
        do throws(FingerprintError) {
            _ = try FingerprintReader().enrolments(until: Deadline(after: .milliseconds(500)))
            return "found"
        } catch {
            return "\(error.code)"
        }
    }
}
