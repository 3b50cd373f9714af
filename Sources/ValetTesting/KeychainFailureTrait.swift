// SPDX-License-Identifier: Apache-2.0

public import Testing

/// Lets calls to the keychain fail in each test: `.keychainFailure(.locked)`.
public struct KeychainFailureTrait: TestTrait, SuiteTrait, TestScoping {
    let failure: ScriptedFailure

    /// True: of a suite, it is so in every test, which counts its calls for itself.
    public var isRecursive: Bool { true }

    /// Runs a test with the failure in effect.
    public func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withKeychainFailure(failure) { try await function() }
    }
}

extension Trait where Self == KeychainFailureTrait {
    /// Lets calls to the keychain of each test fail. Without ``Testing/Trait/temporaryKeychain``
    /// the test has an empty one, too; the order of both does not matter.
    public static func keychainFailure(_ failure: ScriptedFailure) -> Self {
        KeychainFailureTrait(failure: failure)
    }
}
