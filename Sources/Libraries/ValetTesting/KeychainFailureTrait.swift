// SPDX-License-Identifier: Apache-2.0

public import Testing

/// Makes calls to the keychain fail in each test: `.keychainFailure(.locked)`.
public struct KeychainFailureTrait: TestTrait, SuiteTrait, TestScoping {
    let failure: ScriptedFailure

    /// True: on a suite, the failure is in effect in every test. Each test counts its own calls.
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
    /// Makes calls to the keychain fail in each test. Without ``Testing/Trait/temporaryKeychain``
    /// it also gives the test an empty keychain. The order of the two traits does not matter.
    public static func keychainFailure(_ failure: ScriptedFailure) -> Self {
        KeychainFailureTrait(failure: failure)
    }
}

/// Runs `body` while calls to temporary keychains fail as `failures` say. Failures that are already
/// in effect stay so. If no temporary keychain is in effect, it makes one.
@discardableResult
public func withKeychainFailure<R, E: Error>(
    _ failures: ScriptedFailure..., body: () throws(E) -> R
) throws(E) -> R {
    try ActiveFailure.adding(failures) { () throws(E) -> R in
        guard TemporaryKeychain.current == nil else { return try body() }
        return try withTemporaryKeychain { () throws(E) -> R in try body() }
    }
}

/// Runs `body` while calls to temporary keychains fail as `failures` say. Failures that are already
/// in effect stay so. If no temporary keychain is in effect, it makes one.
@discardableResult
public func withKeychainFailure<R, E: Error>(
    _ failures: ScriptedFailure..., body: () async throws(E) -> R
) async throws(E) -> R {
    try await ActiveFailure.adding(failures) { () async throws(E) -> R in
        guard TemporaryKeychain.current == nil else { return try await body() }
        return try await withTemporaryKeychain { () async throws(E) -> R in try await body() }
    }
}
