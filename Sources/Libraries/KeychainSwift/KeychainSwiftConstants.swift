// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// The keys and values of SecItem dictionaries, as text.
public struct KeychainSwiftConstants: Sendable {
    /// `kSecAttrAccessGroup`.
    public static var accessGroup: String { Attribute.accessGroup.rawValue }
    /// `kSecAttrAccessible`.
    public static var accessible: String { Attribute.accessible.rawValue }
    /// `kSecAttrAccount`.
    public static var attrAccount: String { Attribute.account.rawValue }
    /// `kSecAttrSynchronizable`.
    public static var attrSynchronizable: String { Attribute.synchronizable.rawValue }
    /// `kSecClass`.
    public static var klass: String { SecItemKey.itemClass }
    /// `kSecMatchLimit`.
    public static var matchLimit: String { SecItemKey.limit }
    /// `kSecReturnData`.
    public static var returnData: String { SecItemKey.returnData }
    /// `kSecValueData`.
    public static var valueData: String { SecItemKey.data }
    /// `kSecReturnPersistentRef`.
    public static var returnReference: String { SecItemKey.returnPersistentReference }
    /// `kSecReturnAttributes`.
    public static var returnAttributes: String { SecItemKey.returnAttributes }
    /// `kSecMatchLimitAll`.
    public static var secMatchLimitAll: String { SecItemKey.limitAll }
}
