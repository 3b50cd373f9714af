// SPDX-License-Identifier: Apache-2.0

/// Runs `body` with an empty keychain in effect, which is removed afterwards.
///
/// See ``TemporaryKeychain`` for the parameters, and for what does not inherit it.
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

/// Runs `body` with an empty keychain in effect, which is removed afterwards.
///
/// See ``TemporaryKeychain`` for the parameters, and for what does not inherit it.
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

/// Runs `body` while calls to temporary keychains fail as `failures` say, beside what already
/// fails. Where no temporary keychain is in effect it makes one, as
/// `withTemporaryKeychain` does.
@discardableResult
public func withKeychainFailure<R, E: Error>(
    _ failures: ScriptedFailure..., body: () throws(E) -> R
) throws(E) -> R {
    let result: Result<R, E> = ActiveFailure.adding(failures) {
        Result { () throws(E) -> R in
            guard TemporaryKeychain.current == nil else { return try body() }
            return try withTemporaryKeychain { () throws(E) -> R in try body() }
        }
    }
    return try result.get()
}

/// Runs `body` while calls to temporary keychains fail as `failures` say, beside what already
/// fails. Where no temporary keychain is in effect it makes one.
@discardableResult
public func withKeychainFailure<R, E: Error>(
    _ failures: ScriptedFailure..., body: () async throws(E) -> R
) async throws(E) -> R {
    let result: Result<R, E> = await ActiveFailure.adding(failures) {
        do throws(E) {
            guard TemporaryKeychain.current == nil else { return .success(try await body()) }
            return .success(
                try await withTemporaryKeychain { () async throws(E) -> R in try await body() })
        } catch {
            return .failure(error)
        }
    }
    return try result.get()
}
