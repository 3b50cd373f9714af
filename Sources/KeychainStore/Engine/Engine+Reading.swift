// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import KeychainModel

extension Engine {
    /// Runs `body` in one read transaction, with the keys that belong to what it sees.
    func read<R>(
        _ operation: String, _ deadline: Deadline,
        _ body: (StoreConnection, KeychainState) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        try withReader(deadline) { (store) throws(KeychainFailure) in
            let transaction = try translating(operation) {
                try ReadTransaction(on: store.connection)
            }
            let state = try currentState(store)
            let result = try body(store, state)
            _ = consume transaction
            return result
        }
    }
}
