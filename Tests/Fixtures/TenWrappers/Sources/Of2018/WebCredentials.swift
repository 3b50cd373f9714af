// SPDX-License-Identifier: Apache-2.0

//  WebCredentials.swift, 2018
//  Internet passwords by server, protocol and port.

import Foundation
import Security

struct Credentials: Equatable {
    var username: String
    var password: String
}

enum KeychainError: Error, Equatable {
    case noPassword
    case duplicate
    case unexpectedPasswordData
    case unhandledError(status: OSStatus)

    init(status: OSStatus) {
        switch status {
        case errSecItemNotFound: self = .noPassword
        case errSecDuplicateItem: self = .duplicate
        default: self = .unhandledError(status: status)
        }
    }
}

extension KeychainError: LocalizedError {
    var errorDescription: String? {
        switch self {
        case .noPassword: return "No password is stored."
        case .duplicate: return "There is a password already."
        case .unexpectedPasswordData: return "The stored password is not text."
        case .unhandledError(let status):
            if #available(iOS 11.3, tvOS 11.3, watchOS 4.3, *) {
                return SecCopyErrorMessageString(status, nil) as String?
            }
            return "OSStatus \(status)"
        }
    }
}

enum WebProtocol {
    case http, https, ftp, ssh

    var attribute: CFString {
        switch self {
        case .http: return kSecAttrProtocolHTTP
        case .https: return kSecAttrProtocolHTTPS
        case .ftp: return kSecAttrProtocolFTP
        case .ssh: return kSecAttrProtocolSSH
        }
    }

    init?(attribute: CFString) {
        switch attribute {
        case kSecAttrProtocolHTTP: self = .http
        case kSecAttrProtocolHTTPS: self = .https
        case kSecAttrProtocolFTP: self = .ftp
        case kSecAttrProtocolSSH: self = .ssh
        default: return nil
        }
    }
}

public struct WebCredentials {
    let server: String
    let scheme: WebProtocol
    var port: Int?

    private var query: [String: Any] {
        var query: [String: Any] = [
            kSecClass as String: kSecClassInternetPassword,
            kSecAttrServer as String: server,
            kSecAttrProtocol as String: scheme.attribute,
        ]
        if let port = port { query[kSecAttrPort as String] = port }
        return query
    }

    func add(_ credentials: Credentials, path: String = "/") throws {
        var item = query
        item[kSecAttrAccount as String] = credentials.username
        item[kSecAttrPath as String] = path
        item[kSecAttrLabel as String] = "\(server) (\(credentials.username))"
        item[kSecAttrAuthenticationType as String] = kSecAttrAuthenticationTypeHTMLForm
        item[kSecValueData as String] = credentials.password.data(using: .utf8)!
        let status = SecItemAdd(item as CFDictionary, nil)
        guard status == errSecSuccess else { throw KeychainError(status: status) }
    }

    func first() throws -> Credentials {
        let search = query.merging([
            kSecMatchLimit as String: kSecMatchLimitOne,
            kSecReturnAttributes as String: true,
            kSecReturnData as String: true,
        ]) { $1 }
        var item: CFTypeRef?
        let status = SecItemCopyMatching(search as CFDictionary, &item)
        guard status == errSecSuccess else { throw KeychainError(status: status) }
        guard let existing = item as? [String: Any],
            let data = existing[kSecValueData as String] as? Data,
            let password = String(data: data, encoding: .utf8),
            let account = existing[kSecAttrAccount as String] as? String
        else { throw KeychainError.unexpectedPasswordData }
        return Credentials(username: account, password: password)
    }

    func change(_ credentials: Credentials) throws {
        var search = query
        search[kSecAttrAccount as String] = credentials.username
        let status = SecItemUpdate(
            search as CFDictionary,
            [kSecValueData: Data(credentials.password.utf8)] as CFDictionary)
        guard status == errSecSuccess else { throw KeychainError(status: status) }
    }

    func removeAll() throws {
        let status = SecItemDelete(query as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw KeychainError(status: status)
        }
    }

    static func endpoints(of server: String) -> [(WebProtocol, Int)] {
        let search: [CFString: Any] = [
            kSecClass: kSecClassInternetPassword, kSecAttrServer: server,
            kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: kCFBooleanTrue!,
        ]
        var items: CFTypeRef?
        guard SecItemCopyMatching(search as CFDictionary, &items) == errSecSuccess,
            let array = items as? [[CFString: Any]]
        else { return [] }
        return array.compactMap {
            guard let scheme = WebProtocol(attribute: $0[kSecAttrProtocol] as! CFString) else {
                return nil
            }
            return (scheme, $0[kSecAttrPort] as? Int ?? 0)
        }
    }

    public static func check() -> [String] {
        var failed: [String] = []
        func claim(_ text: String, _ ok: Bool) { if !ok { failed.append(text) } }
        let shop = WebCredentials(server: "shop.example.com", scheme: .https, port: 443)
        let admin = WebCredentials(server: "shop.example.com", scheme: .https, port: 8443)
        let shell = WebCredentials(server: "shop.example.com", scheme: .ssh, port: 22)
        do {
            try [shop, admin, shell].forEach { try $0.removeAll() }
            do { _ = try shop.first(); claim("should have thrown", false) } catch KeychainError
                .noPassword
            {}
            try shop.add(Credentials(username: "dora", password: "one"))
            try admin.add(Credentials(username: "dora", password: "two"))
            try shell.add(Credentials(username: "dora", password: "three"))
            claim("shop", try shop.first() == Credentials(username: "dora", password: "one"))
            claim("admin", try admin.first().password == "two")
            do {
                try shop.add(Credentials(username: "dora", password: "x"));
                claim("duplicate", false)
            } catch let error as KeychainError { claim("duplicate", error == .duplicate) }
            try shop.add(Credentials(username: "dora", password: "four"), path: "/other")
            claim(
                "all four",
                endpoints(of: "shop.example.com").map { $0.1 }.sorted() == [22, 443, 443, 8443])
            claim(
                "protocols",
                endpoints(of: "shop.example.com").contains { $0.0 == .ssh && $0.1 == 22 })
            try admin.change(Credentials(username: "dora", password: "five"))
            claim("changed", try admin.first().password == "five")
            claim(
                "message",
                KeychainError.unhandledError(status: errSecAuthFailed).localizedDescription.isEmpty
                    == false)
            try [shop, admin, shell].forEach { try $0.removeAll() }
            claim("none left", endpoints(of: "shop.example.com").isEmpty)
        } catch { failed.append("threw \(error)") }
        return failed
    }
}
