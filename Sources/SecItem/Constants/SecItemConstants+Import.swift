// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Keys of calls that import PKCS#12 files. Those calls are not offered: names only, so that code
// builds.

// The same texts as objects, which the compiler prefers, are documented in CoreFoundationNames.

@_disfavoredOverload public let kSecImportExportPassphrase = "passphrase"
@_disfavoredOverload public let kSecImportItemLabel = "label"
@_disfavoredOverload public let kSecImportItemKeyID = "keyid"
@_disfavoredOverload public let kSecImportItemTrust = "trust"
@_disfavoredOverload public let kSecImportItemCertChain = "chain"
@_disfavoredOverload public let kSecImportItemIdentity = "identity"
