// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

// Turns typed requests into the dictionaries of the SecItem functions. `Valet` and `KeychainSwift`
// use it on Apple's systems, and tests use it on all.

/// The four SecItem functions. They take dictionaries, and return an `OSStatus` and the result.
package protocol SecItemFunctions: Sendable {
    func add(_ attributes: [String: Any]) -> (status: Int32, result: Any?)
    func copy(_ query: [String: Any]) -> (status: Int32, result: Any?)
    func update(_ query: [String: Any], _ changes: [String: Any]) -> Int32
    func delete(_ query: [String: Any]) -> Int32
}

extension SecItemFunctions {
    /// The result of a search.
    ///
    /// - Throws: The failure for the status of `SecItemCopyMatching`.
    package func copy(
        _ query: [String: Any], _ operation: String
    ) throws(KeychainFailure) -> Any? {
        let (status, result) = copy(query)
        try check(status, operation)
        return result
    }

    package func check(_ status: Int32, _ operation: String) throws(KeychainFailure) {
        guard status != 0 else { return }
        throw KeychainFailure(KeychainFailure.Code(status: status), during: operation)
    }
}
