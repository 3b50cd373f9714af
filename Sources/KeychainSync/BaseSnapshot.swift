// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSync

/// One moment of the keychain, from which the parts of a base are built while others write.
///
/// While it is open, the log of the database cannot be shortened: close it soon.
package final class BaseSnapshot {
    /// The record of a dot that lived at that moment, byte for byte.
    ///
    /// - Throws: ``KeychainFailure``: `damaged` if its row is damaged; `locked` if the scope was
    ///   closed since.
    package func record(_ dot: Dot, in scope: KeyScope) throws(KeychainFailure) -> SyncRecord {
        throw KeychainFailure(.internalFault, during: "sync")
    }

    /// Ends the transaction. A snapshot that is dropped ends it, too.
    package func close() {}
}
