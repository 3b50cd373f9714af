// SPDX-License-Identifier: Apache-2.0

public import Testing

/// Gives each test, and each case of a parameterized test, an empty keychain:
/// `.temporaryKeychain`.
public struct TemporaryKeychainTrait: TestTrait, SuiteTrait, TestScoping {
    let storage: TemporaryKeychain.Storage
    let applicationIdentifier: String
    let accessGroups: [String]

    /// True: on a suite, every test has a keychain of its own.
    public var isRecursive: Bool { true }

    /// Runs a test with a keychain in effect, and removes the keychain afterwards.
    public func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTemporaryKeychain(
            storage, applicationIdentifier: applicationIdentifier, accessGroups: accessGroups
        ) {
            try await function()
        }
    }
}

extension Trait where Self == TemporaryKeychainTrait {
    /// An empty keychain in memory for each test.
    public static var temporaryKeychain: Self { temporaryKeychain() }

    /// An empty keychain for each test.
    ///
    /// ``TemporaryKeychain`` describes the parameters.
    public static func temporaryKeychain(
        _ storage: TemporaryKeychain.Storage = .memory,
        applicationIdentifier: String = "ValetTesting", accessGroups: [String] = []
    ) -> Self {
        TemporaryKeychainTrait(
            storage: storage, applicationIdentifier: applicationIdentifier,
            accessGroups: accessGroups)
    }
}

/// Runs `body` with an empty keychain in effect, and removes the keychain afterwards.
///
/// ``TemporaryKeychain`` describes the parameters, and which threads do not inherit the keychain.
@discardableResult
public func withTemporaryKeychain<R, E: Error>(
    _ storage: TemporaryKeychain.Storage = .memory,
    applicationIdentifier: String = "ValetTesting", accessGroups: [String] = [],
    _ body: () throws(E) -> R
) throws(E) -> R {
    let keychain = TemporaryKeychain(
        storage, applicationIdentifier: applicationIdentifier, accessGroups: accessGroups)
    defer { keychain.remove() }
    return try keychain.use(body)
}

/// Runs `body` with an empty keychain in effect, and removes the keychain afterwards.
///
/// ``TemporaryKeychain`` describes the parameters, and which threads do not inherit the keychain.
@discardableResult
public func withTemporaryKeychain<R, E: Error>(
    _ storage: TemporaryKeychain.Storage = .memory,
    applicationIdentifier: String = "ValetTesting", accessGroups: [String] = [],
    _ body: () async throws(E) -> R
) async throws(E) -> R {
    let keychain = TemporaryKeychain(
        storage, applicationIdentifier: applicationIdentifier, accessGroups: accessGroups)
    defer { keychain.remove() }
    return try await keychain.use(body)
}
