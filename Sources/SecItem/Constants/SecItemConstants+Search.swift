// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What a search matches and returns, and where values are. Those of certificates have no effect.

// The same texts as objects, which the compiler prefers, are documented in CoreFoundationNames.

@_disfavoredOverload public let kSecMatchLimit = "m_Limit"
@_disfavoredOverload public let kSecMatchLimitOne = "m_LimitOne"
@_disfavoredOverload public let kSecMatchLimitAll = "m_LimitAll"
@_disfavoredOverload public let kSecMatchHostOrSubdomainOfHost = "m_HostOrSubdomainOfHost"
@_disfavoredOverload public let kSecMatchPolicy = "m_Policy"
@_disfavoredOverload public let kSecMatchItemList = "m_ItemList"
@_disfavoredOverload public let kSecMatchSearchList = "m_SearchList"
@_disfavoredOverload public let kSecMatchIssuers = "m_Issuers"
@_disfavoredOverload public let kSecMatchEmailAddressIfPresent = "m_EmailAddressIfPresent"
@_disfavoredOverload public let kSecMatchSubjectContains = "m_SubjectContains"
@_disfavoredOverload public let kSecMatchSubjectStartsWith = "m_SubjectStartsWith"
@_disfavoredOverload public let kSecMatchSubjectEndsWith = "m_SubjectEndsWith"
@_disfavoredOverload public let kSecMatchSubjectWholeString = "m_SubjectWholeString"
@_disfavoredOverload public let kSecMatchCaseInsensitive = "m_CaseInsensitive"
@_disfavoredOverload public let kSecMatchDiacriticInsensitive = "m_DiacriticInsensitive"
@_disfavoredOverload public let kSecMatchWidthInsensitive = "m_WidthInsensitive"
@_disfavoredOverload public let kSecMatchTrustedOnly = "m_TrustedOnly"
@_disfavoredOverload public let kSecMatchValidOnDate = "m_ValidOnDate"
@_disfavoredOverload public let kSecReturnData = "r_Data"
@_disfavoredOverload public let kSecReturnAttributes = "r_Attributes"
@_disfavoredOverload public let kSecReturnRef = "r_Ref"
@_disfavoredOverload public let kSecReturnPersistentRef = "r_PersistentRef"
@_disfavoredOverload public let kSecValueData = "v_Data"
@_disfavoredOverload public let kSecValueRef = "v_Ref"
@_disfavoredOverload public let kSecValuePersistentRef = "v_PersistentRef"
