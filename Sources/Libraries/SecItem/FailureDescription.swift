// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import ValetKeychainModel

// Most programs log `localizedDescription`. AppleKeychainRequests has the same for Apple's systems,
// where this module is not built.

extension KeychainFailure: LocalizedError {
    /// What `description` says, with the hint.
    public var errorDescription: String? {
        hint.map { "\(description): \($0)" } ?? description
    }
}
