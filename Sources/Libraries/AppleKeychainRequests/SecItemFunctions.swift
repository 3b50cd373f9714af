// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

// `SecItemRequests` turns typed requests into the dictionaries of the SecItem functions. `Valet`
// and `KeychainSwift` use it on Apple's systems, and tests use it on all.

/// The four SecItem functions. They take dictionaries, and return an `OSStatus` and the result.
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
    /// - Throws: The failure for the status of `SecItemCopyMatching`.
    package func copy(
        _ query: [String: Any], _ operation: String
    ) throws(KeychainFailure) -> Any? {
        let (status, result) = copy(query)
        try check(status, operation)
        return result
    }

    /// Throws the failure for `status`, unless it is success.
    package func check(_ status: Int32, _ operation: String) throws(KeychainFailure) {
        guard status != 0 else { return }
        throw KeychainFailure(KeychainFailure.Code(status: status), during: operation)
    }
}

/// The strings that the `kSec…` constants stand for (spec/secitem.md §1.1, §1.6, §1.7).
package enum SecItemKey {
    /// `kSecClass`.
    package static let itemClass = "class"
    /// `kSecMatchLimit`.
    package static let limit = "m_Limit"
    /// `kSecMatchLimitOne`.
    package static let limitOne = "m_LimitOne"
    /// `kSecMatchLimitAll`.
    package static let limitAll = "m_LimitAll"
    /// `kSecMatchHostOrSubdomainOfHost`.
    package static let hostOrSubdomainOfHost = "m_HostOrSubdomainOfHost"
    /// `kSecReturnData`.
    package static let returnData = "r_Data"
    /// `kSecReturnAttributes`.
    package static let returnAttributes = "r_Attributes"
    /// `kSecReturnRef`.
    package static let returnReference = "r_Ref"
    /// `kSecReturnPersistentRef`.
    package static let returnPersistentReference = "r_PersistentRef"
    /// `kSecValueData`.
    package static let data = "v_Data"
    /// `kSecValuePersistentRef`.
    package static let persistentReference = "v_PersistentRef"
    /// `kSecUseDataProtectionKeychain`.
    package static let usesDataProtectionKeychain = "nleg"
    /// `kSecAttrSynchronizableAny`.
    package static let synchronizableAny = "syna"
    /// `kSecUseAuthenticationContext`.
    package static let authenticationContext = "u_AuthCtx"
    /// `kSecUseAuthenticationUI`.
    package static let authenticationUI = "u_AuthUI"
    /// `kSecUseAuthenticationUIFail`.
    package static let authenticationUIFail = "u_AuthUIF"
}
