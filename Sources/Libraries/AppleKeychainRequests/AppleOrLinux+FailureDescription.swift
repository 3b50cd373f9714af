// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    public import Foundation
    public import ValetKeychainModel

    // Most programs log `localizedDescription`. On Linux SecItem has this.

    extension KeychainFailure: LocalizedError {
        /// What `description` says, with the hint.
        public var errorDescription: String? {
            hint.map { "\(description): \($0)" } ?? description
        }
    }
#endif
