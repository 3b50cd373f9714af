// SPDX-License-Identifier: Apache-2.0

public import Testing

/// Gives each test, and each case of a parameterized one, an empty keychain: `.temporaryKeychain`.
public struct TemporaryKeychainTrait: TestTrait, SuiteTrait, TestScoping {
    let storage: TemporaryKeychain.Storage
    let applicationIdentifier: String
    let accessGroups: [String]

    /// True: of a suite, every test has a keychain of its own.
    public var isRecursive: Bool { true }

    /// Runs a test with a keychain in effect, which is removed afterwards.
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
    /// See ``TemporaryKeychain`` for the parameters.
    public static func temporaryKeychain(
        _ storage: TemporaryKeychain.Storage = .memory,
        applicationIdentifier: String = "ValetTesting", accessGroups: [String] = []
    ) -> Self {
        TemporaryKeychainTrait(
            storage: storage, applicationIdentifier: applicationIdentifier,
            accessGroups: accessGroups)
    }
}
