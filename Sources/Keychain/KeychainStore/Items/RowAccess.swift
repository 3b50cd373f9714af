// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSystem

// What the module KeychainSync may do: whole transactions on rows and on the tables of sync.

extension ItemStore {
    /// Runs `body` in one read transaction; nil if there is no keychain.
    package func readRows<R>(
        _ operation: String, _ body: (inout RowSnapshot) throws -> R
    ) throws(KeychainFailure) -> R? {
        try perform(.read, operation, body)
    }

    /// Runs `body` in one write transaction, all or nothing; nil if there is no keychain.
    package func writeRows<R>(
        _ operation: String, _ body: (RowTransaction) throws -> R
    ) throws(KeychainFailure) -> R? {
        try perform(.write, operation, body)
    }

    /// Like ``writeRows(_:_:)``, and begins to read after the commit, before any other process
    /// writes.
    package func writeRowsHoldingSnapshot<R>(
        _ operation: String, _ body: (RowTransaction) throws -> R
    ) throws(KeychainFailure) -> (R, HeldSnapshot)? {
        let call = call(operation)
        return try attempt(call) { keychain in
            var snapshot: HeldSnapshot?
            let result = try keychain.write(call, body) { keys in
                snapshot = try HeldSnapshot(keychain, keys, until: call.deadline)
            }
            guard let snapshot else { throw KeychainFailure(.internalFault, during: operation) }
            return (result, snapshot)
        }
    }
}
