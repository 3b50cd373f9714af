// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Why a call failed.
public struct StoreError: Error {
    public let status: OSStatus

    public var message: String {
        SecCopyErrorMessageString(status, nil) as String? ?? "status \(status)"
    }
}
