// SPDX-License-Identifier: Apache-2.0

// What a search matches and returns, and where values are. Those of certificates have no effect.

/// How many items to return: a number, `kSecMatchLimitOne` or `kSecMatchLimitAll`.
public let kSecMatchLimit: CFString = "m_Limit"
/// One item: the default.
public let kSecMatchLimitOne: CFString = "m_LimitOne"
/// All items, as an array.
public let kSecMatchLimitAll: CFString = "m_LimitAll"
/// Finds internet passwords of a host and of the domains above it: a string.
public let kSecMatchHostOrSubdomainOfHost: CFString = "m_HostOrSubdomainOfHost"
/// A policy that certificates must satisfy; refused for passwords.
public let kSecMatchPolicy: CFString = "m_Policy"
/// The items to search; accepted without effect.
public let kSecMatchItemList: CFString = "m_ItemList"
/// The keychains to search; accepted without effect.
public let kSecMatchSearchList: CFString = "m_SearchList"
/// Issuers of certificates; `errSecUnimplemented` for passwords.
public let kSecMatchIssuers: CFString = "m_Issuers"
/// An address in certificates: a string, without effect on passwords.
public let kSecMatchEmailAddressIfPresent: CFString = "m_EmailAddressIfPresent"
/// Text in the subject of certificates; without effect on passwords.
public let kSecMatchSubjectContains: CFString = "m_SubjectContains"
/// Text at the start of the subject of certificates; without effect on passwords.
public let kSecMatchSubjectStartsWith: CFString = "m_SubjectStartsWith"
/// Text at the end of the subject of certificates; without effect on passwords.
public let kSecMatchSubjectEndsWith: CFString = "m_SubjectEndsWith"
/// The whole subject of certificates; without effect on passwords.
public let kSecMatchSubjectWholeString: CFString = "m_SubjectWholeString"
/// Accepted without effect: passwords match byte by byte.
public let kSecMatchCaseInsensitive: CFString = "m_CaseInsensitive"
/// Accepted without effect: passwords match byte by byte.
public let kSecMatchDiacriticInsensitive: CFString = "m_DiacriticInsensitive"
/// Accepted without effect: passwords match byte by byte.
public let kSecMatchWidthInsensitive: CFString = "m_WidthInsensitive"
/// Only trusted certificates: a boolean, without effect on passwords.
public let kSecMatchTrustedOnly: CFString = "m_TrustedOnly"
/// Only certificates valid then: a date or null, without effect on passwords.
public let kSecMatchValidOnDate: CFString = "m_ValidOnDate"
/// Whether to return the value of the item: a boolean.
public let kSecReturnData: CFString = "r_Data"
/// Whether to return the attributes of the item: a boolean.
public let kSecReturnAttributes: CFString = "r_Attributes"
/// Whether to return an object; passwords have none: a boolean.
public let kSecReturnRef: CFString = "r_Ref"
/// Whether to return the name of the item that outlives its attributes: a boolean.
public let kSecReturnPersistentRef: CFString = "r_PersistentRef"
/// The value of the item: data.
public let kSecValueData: CFString = "v_Data"
/// A key, certificate or identity object; there are none here, so every value is refused.
public let kSecValueRef: CFString = "v_Ref"
/// The name of an item that outlives its attributes: 20 bytes of data.
public let kSecValuePersistentRef: CFString = "v_PersistentRef"
