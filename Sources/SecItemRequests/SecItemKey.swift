// SPDX-License-Identifier: Apache-2.0

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
