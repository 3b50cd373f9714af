// SPDX-License-Identifier: Apache-2.0

// Values of kSecAttrAuthenticationType; four characters each. Others are stored as well.

/// How the server authenticates: NTLM.
public let kSecAttrAuthenticationTypeNTLM: CFString = "ntlm"
/// How the server authenticates: that of MSN.
public let kSecAttrAuthenticationTypeMSN: CFString = "msna"
/// How the server authenticates: distributed password authentication.
public let kSecAttrAuthenticationTypeDPA: CFString = "dpaa"
/// How the server authenticates: remote password authentication.
public let kSecAttrAuthenticationTypeRPA: CFString = "rpaa"
/// How the server authenticates: HTTP's basic.
public let kSecAttrAuthenticationTypeHTTPBasic: CFString = "http"
/// How the server authenticates: HTTP's digest.
public let kSecAttrAuthenticationTypeHTTPDigest: CFString = "httd"
/// How the server authenticates: a form on a page.
public let kSecAttrAuthenticationTypeHTMLForm: CFString = "form"
/// How the server authenticates: whatever the server prefers.
public let kSecAttrAuthenticationTypeDefault: CFString = "dflt"
