// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// The items of a valet whose values only the present user can read: the calls that
/// ``SecureEnclaveValet`` and ``SinglePromptSecureEnclaveValet`` have in common.
///
/// Only reading values asks the user.
struct Enclave: Sendable {
    let configuration: Configuration
    let accessControl: SecureEnclaveAccessControl
    let sandbox: PasswordService
    let backend: any KeychainBackend
    let authentication: @Sendable () -> Authentication

    init(
        _ naming: Configuration.Naming, _ accessControl: SecureEnclaveAccessControl, asksOnce: Bool,
        backend: any KeychainBackend,
        authentication: @escaping @Sendable () -> Authentication = { Authentication() }
    ) {
        configuration = Configuration(enclave: naming, accessControl, asksOnce: asksOnce)
        self.accessControl = accessControl
        sandbox = configuration.sandbox
        self.backend = backend
        self.authentication = authentication
    }

    var canAccessKeychain: Bool {
        backend.canAccess(configuration.identity.plain.items)
    }

    /// Whether the access control requires no finger or face, or one is enrolled. If not, keeps the
    /// reason as the thread's last failure.
    var canMeetAccessControl: Bool {
        if !accessControl.demand.takesBiometry || authentication().canShowBiometry { return true }
        Platform.keep(
            .noFinger(
                during: "check the access control", "it requires a finger, and none is enrolled"))
        return false
    }

    func set(_ object: Data, _ key: String) throws(KeychainError) {
        try check(key)
        guard !object.isEmpty else { throw .emptyValue }
        do {
            try backend.set(
                configuration.identity.item(key), value: object, authentication())
        } catch {
            throw KeychainError(error.ofStoring)
        }
    }

    func object(_ key: String, _ authentication: Authentication) throws(KeychainError) -> Data {
        try check(key)
        return try translating { () throws(KeychainFailure) in
            let value = try backend.value(of: PasswordName(key, in: sandbox), authentication)
            guard let value else {
                throw KeychainFailure(.itemNotFound, during: "read an item")
            }
            return value
        }
    }

    func string(_ key: String, _ authentication: Authentication) throws(KeychainError) -> String {
        guard let string = String(utf8: try object(key, authentication)) else {
            Platform.keep(.valueIsNotUTF8)
            throw .itemNotFound
        }
        return string
    }

    func contains(_ key: String) throws(KeychainError) -> Bool {
        try check(key)
        return try translating { () throws(KeychainFailure) in
            try backend.contains(PasswordName(key, in: sandbox), authentication())
        }
    }

    func allKeys(_ authentication: Authentication) throws(KeychainError) -> Set<String> {
        try translating { () throws(KeychainFailure) in
            Set(try backend.accounts(of: sandbox, authentication))
        }
    }

    func remove(_ key: String) throws(KeychainError) {
        try check(key)
        try backend.deleteAny(PasswordName(key, in: sandbox).query)
    }

    func removeAll() throws(KeychainError) {
        try backend.deleteAny(sandbox.query)
    }

    func migrate(matching query: [String: AnyHashable], removing: Bool) throws {
        try migrate(try backend.find(try Migration.dictionary(query)), removing: removing)
    }

    func migrate(from valet: Valet, removing: Bool) throws {
        try migrate(try backend.find(valet.query), removing: removing)
    }

    /// Stores `items` here, all or none; removes all of them from their old place, or none.
    func migrate(_ items: [FoundItem], removing: Bool) throws {
        try backend.migrate(
            items, into: configuration.identity, removing: removing, authentication, Transfer.keep)
    }

    private func check(_ key: String) throws(KeychainError) {
        guard !key.isEmpty else { throw .emptyKey }
    }
}

extension Enclave: Equatable {
    static func == (one: Enclave, other: Enclave) -> Bool { one.sandbox == other.sandbox }
}

extension Enclave: CustomStringConvertible {
    var description: String {
        let asksOnce = configuration.kind == .singlePromptSecureEnclaveValet
        let kind = asksOnce ? "SinglePromptSecureEnclaveValet" : "SecureEnclaveValet"
        let access = "\(configuration.accessibility)\(accessControl)"
        return "\(configuration.identifier) \(access) (\(kind))"
    }
}

/// The hardware behind ``SecureEnclaveValet`` and ``SinglePromptSecureEnclaveValet``.
///
/// Exists for older code that mentions the name. It has no members.
public enum SecureEnclave: Sendable {}
