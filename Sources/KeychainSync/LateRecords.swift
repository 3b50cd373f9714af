// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSync

extension SyncUpdate {
    /// Keeps the values of records that are too late to be joined, as replaced ones.
    package func keepReplaced(_ records: [SyncRecord], in scope: KeyScope) throws {
        throw KeychainFailure(.internalFault, during: "sync")
    }
}
