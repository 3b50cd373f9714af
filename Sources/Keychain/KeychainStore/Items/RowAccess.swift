// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSystem

// What sync may do, beside `readRows` and `writeRows`.

extension ItemStore {
    /// Runs `body` in one write transaction. After the commit, and before any other process writes,
    /// opens a snapshot, which is nil if it cannot be opened. Returns nil if there is no keychain.
    package func writeRowsHoldingSnapshot<R>(
        _ operation: String, _ body: (RowTransaction) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> (R, HeldSnapshot?)? {
        let call = call(operation)
        return try attempt(call) { (keychain) throws(KeychainFailure) in
            var snapshot: HeldSnapshot?
            let result = try keychain.write(call, body) { keys in
                snapshot = try? HeldSnapshot(keychain, of: slot, keys, call)
            }
            return (result, snapshot)
        }
    }
}
