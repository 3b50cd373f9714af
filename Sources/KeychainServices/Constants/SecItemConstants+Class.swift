// SPDX-License-Identifier: Apache-2.0

// Classes of items. The strings are those of Apple's systems and part of stored data.

/// The key under which a dictionary names the class of item.
public let kSecClass: CFString = "class"
/// A password of an application: found by service and account.
public let kSecClassGenericPassword: CFString = "genp"
/// A password of a server: found by server, account, protocol, port and path.
public let kSecClassInternetPassword: CFString = "inet"
/// A certificate. Every call answers `errSecUnimplemented`.
public let kSecClassCertificate: CFString = "cert"
/// A cryptographic key. Every call answers `errSecUnimplemented`.
public let kSecClassKey: CFString = "keys"
/// A certificate with its private key. Every call answers `errSecUnimplemented`.
public let kSecClassIdentity: CFString = "idnt"
