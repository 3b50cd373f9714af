// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Values of kSecAttrAuthenticationType; four characters each. Others are stored as well.

// The same texts as objects, which the compiler prefers, are documented in CoreFoundationNames.

@_disfavoredOverload public let kSecAttrAuthenticationTypeNTLM = "ntlm"
@_disfavoredOverload public let kSecAttrAuthenticationTypeMSN = "msna"
@_disfavoredOverload public let kSecAttrAuthenticationTypeDPA = "dpaa"
@_disfavoredOverload public let kSecAttrAuthenticationTypeRPA = "rpaa"
@_disfavoredOverload public let kSecAttrAuthenticationTypeHTTPBasic = "http"
@_disfavoredOverload public let kSecAttrAuthenticationTypeHTTPDigest = "httd"
@_disfavoredOverload public let kSecAttrAuthenticationTypeHTMLForm = "form"
@_disfavoredOverload public let kSecAttrAuthenticationTypeDefault = "dflt"
