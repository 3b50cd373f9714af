// SPDX-License-Identifier: Apache-2.0

//  OAuthTokenStore.swift, 2022

import Foundation
import LocalAuthentication
import Security

struct OAuthToken: Codable, Equatable, Sendable {
    var access: String
    var refresh: String
    var expiry: Date
    var isExpired: Bool { expiry <= Date() }
}

/// The four functions, so that tests can put others in their place.
struct SecItemFunctions {
    var copy: (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus
    var add: (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus
    var update: (CFDictionary, CFDictionary) -> OSStatus
    var delete: (CFDictionary) -> OSStatus

    static let live = SecItemFunctions(
        copy: SecItemCopyMatching, add: SecItemAdd,
        update: SecItemUpdate, delete: SecItemDelete)
}

protocol TokenStorage {
    func load() throws -> OAuthToken?
    func save(_ token: OAuthToken) throws
    func clear() throws
}

struct KeychainTokenStorage: TokenStorage {
    struct Failure: Error, CustomStringConvertible {
        let status: OSStatus
        var description: String {
            SecCopyErrorMessageString(status, nil) as String? ?? "OSStatus \(status)"
        }
    }

    let issuer: URL
    let user: String
    var functions = SecItemFunctions.live

    private var query: [String: Any] {
        [
            kSecClass as String: kSecClassInternetPassword,
            kSecAttrServer as String: issuer.host ?? "",
            kSecAttrPath as String: issuer.path,
            kSecAttrProtocol as String: kSecAttrProtocolHTTPS,
            kSecAttrAccount as String: user,
            kSecAttrSynchronizable as String: false,
        ]
    }

    func load() throws -> OAuthToken? {
        var query = query
        query[kSecReturnData as String] = true
        query[kSecUseAuthenticationUI as String] = kSecUseAuthenticationUISkip
        var item: CFTypeRef?
        switch functions.copy(query as CFDictionary, &item) {
        case errSecSuccess:
            guard let data = item as? Data else { throw Failure(status: errSecDecode) }
            return try PropertyListDecoder().decode(OAuthToken.self, from: data)
        case errSecItemNotFound:
            return nil
        case let status:
            throw Failure(status: status)
        }
    }

    func save(_ token: OAuthToken) throws {
        let data = try PropertyListEncoder().encode(token)
        let added = query.merging([
            kSecValueData as String: data,
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]) { $1 }
        var status = functions.add(added as CFDictionary, nil)
        if status == errSecDuplicateItem {
            status = functions.update(
                query as CFDictionary, [kSecValueData as String: data] as CFDictionary)
        }
        guard status == errSecSuccess else { throw Failure(status: status) }
    }

    func clear() throws {
        let status = functions.delete(query as CFDictionary)
        guard [errSecSuccess, errSecItemNotFound].contains(status) else {
            throw Failure(status: status)
        }
    }

    /// With Face ID; for the settings screen.
    func load(authenticatedBy context: LAContext) async throws -> Data? {
        context.localizedCancelTitle = "Not now"
        guard
            try await context.evaluatePolicy(
                .deviceOwnerAuthentication, localizedReason: "Show your token")
        else { return nil }
        var query = query
        query[kSecUseAuthenticationContext as String] = context
        query[kSecReturnData as String] = true
        var item: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &item)
        guard status == errSecSuccess else { throw Failure(status: status) }
        return item as? Data
    }
}

final class MemoryTokenStorage: TokenStorage {
    private var token: OAuthToken?
    func load() -> OAuthToken? { token }
    func save(_ token: OAuthToken) { self.token = token }
    func clear() { token = nil }
}

public actor OAuthTokenStore {
    private let storage: TokenStorage
    private let refresh: (OAuthToken) async throws -> OAuthToken
    private var refreshing: Task<OAuthToken, Error>?

    init(storage: TokenStorage, refresh: @escaping (OAuthToken) async throws -> OAuthToken) {
        self.storage = storage
        self.refresh = refresh
    }

    func signIn(_ token: OAuthToken) throws { try storage.save(token) }
    func signOut() throws { try storage.clear() }

    func validToken() async throws -> OAuthToken? {
        if let refreshing = refreshing { return try await refreshing.value }
        guard let token = try storage.load() else { return nil }
        guard token.isExpired else { return token }
        let task = Task { try await refresh(token) }
        refreshing = task
        defer { refreshing = nil }
        let fresh = try await task.value
        try storage.save(fresh)
        return fresh
    }

    public static func check() async -> [String] {
        var failed: [String] = []
        func claim(_ text: String, _ ok: Bool) { if !ok { failed.append(text) } }
        let old = OAuthToken(access: "a", refresh: "r", expiry: Date(timeIntervalSince1970: 0))
        let new = OAuthToken(
            access: "b", refresh: "s", expiry: Date(timeIntervalSinceReferenceDate: 9_000_000_000))
        let real = KeychainTokenStorage(
            issuer: URL(string: "https://id.example.com/tenant")!, user: "emil")
        do {
            try real.clear()
            for storage in [MemoryTokenStorage(), real] as [TokenStorage] {
                let store = OAuthTokenStore(storage: storage) { _ in new }
                claim("signed out: \(type(of: storage))", try await store.validToken() == nil)
                try await store.signIn(old)
                async let one = store.validToken()
                async let two = store.validToken()
                let both = try await [one, two]
                claim("refreshed: \(type(of: storage))", both == [new, new])
                claim("saved: \(type(of: storage))", try storage.load() == new)
                try await store.signOut()
                claim("signed out again: \(type(of: storage))", try storage.load() == nil)
            }
            var broken = real
            broken.functions.copy = { query, _ in
                (query as NSDictionary)[kSecAttrAccount] as? String == "emil"
                    ? errSecInteractionNotAllowed : errSecParam
            }
            do { _ = try broken.load(); claim("broken should throw", false) } catch let failure
                as KeychainTokenStorage.Failure
            {
                claim("status", failure.status == -25308)
                claim("described", !failure.description.isEmpty)
            }
        } catch { failed.append("threw \(error)") }
        return failed
    }
}
