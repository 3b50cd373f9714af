// SPDX-License-Identifier: Apache-2.0

// `SecItemRequests` speaks typed requests as the dictionaries of the SecItem functions.

package import ValetKeychainModel

/// The four SecItem functions: dictionaries in; an `OSStatus`, and what was asked for, out.
package protocol SecItemFunctions: Sendable {
    /// `SecItemAdd`
    func add(_ attributes: [String: Any]) -> (status: Int32, result: Any?)
    /// `SecItemCopyMatching`
    func copy(_ query: [String: Any]) -> (status: Int32, result: Any?)
    /// `SecItemUpdate`
    func update(_ query: [String: Any], _ changes: [String: Any]) -> Int32
    /// `SecItemDelete`
    func delete(_ query: [String: Any]) -> Int32
}

extension SecItemFunctions {
    /// The result of a search.
    ///
    /// - Throws: What the status of `SecItemCopyMatching` says.
    package func copy(
        _ query: [String: Any], _ operation: String
    ) throws(KeychainFailure) -> Any? {
        let (status, result) = copy(query)
        try check(status, operation)
        return result
    }

    /// Throws what `status` says, unless it is success.
    package func check(_ status: Int32, _ operation: String) throws(KeychainFailure) {
        guard status != 0 else { return }
        throw KeychainFailure(KeychainFailure.Code(status: status), during: operation)
    }
}
