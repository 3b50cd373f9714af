// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Values of kSecAttrAuthenticationType; four characters each. Others are stored as well.

// For the parser alone: CoreFoundationNames has the objects that programs use.

@_disfavoredOverload package let kSecAttrAuthenticationTypeNTLM = "ntlm"
@_disfavoredOverload package let kSecAttrAuthenticationTypeMSN = "msna"
@_disfavoredOverload package let kSecAttrAuthenticationTypeDPA = "dpaa"
@_disfavoredOverload package let kSecAttrAuthenticationTypeRPA = "rpaa"
@_disfavoredOverload package let kSecAttrAuthenticationTypeHTTPBasic = "http"
@_disfavoredOverload package let kSecAttrAuthenticationTypeHTTPDigest = "httd"
@_disfavoredOverload package let kSecAttrAuthenticationTypeHTMLForm = "form"
@_disfavoredOverload package let kSecAttrAuthenticationTypeDefault = "dflt"
