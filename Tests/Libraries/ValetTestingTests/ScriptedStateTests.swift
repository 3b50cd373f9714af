// SPDX-License-Identifier: Apache-2.0

internal import Security
internal import Testing
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetTesting

/// What a failure lets an empty keychain say of itself.
struct StateRow: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let failures: [ScriptedFailure]
    let state: ValetKeychain.LockState
    let level: ValetKeychain.ProtectionLevel?

    init(
        _ name: String, _ failures: [ScriptedFailure], _ state: ValetKeychain.LockState,
        _ level: ValetKeychain.ProtectionLevel?
    ) {
        testDescription = name
        self.failures = failures
        self.state = state
        self.level = level
    }

    static let all = [
        StateRow("nothing", [], .absent, nil),
        StateRow("locked", [.locked], .locked, .passcode),
        StateRow("before first unlock", [.beforeFirstUnlock], .beforeFirstUnlock, .passcode),
        StateRow("key unavailable", [.keyUnavailable], .keyUnavailable, .file),
        StateRow("all of them", [.locked, .keyUnavailable], .keyUnavailable, .file),
        StateRow("of one key", [.locked.forKey("key")], .absent, nil),
        StateRow("of a later call", [.locked.atCall(2)], .absent, nil),
        StateRow("damaged", [.damaged], .absent, nil),
        StateRow("disk full", [.diskFull], .absent, nil),
        StateRow("slow", [.slow(.milliseconds(1))], .absent, nil),
    ]
}

@Suite(.temporaryKeychain, .timeLimit(.minutes(20))) struct `A scripted state` {
    @Test(arguments: StateRow.all)
    func `A temporary keychain reports the scripted state`(_ row: StateRow) async throws {
        try await within(row.failures[...]) { () async throws in
            #expect(try ValetKeychain.lockState == row.state)
            #expect(try ValetKeychain.protectionLevel == row.level)
            var states = ValetKeychain.lockStateChanges.makeAsyncIterator()
            #expect(try await states.next() == row.state)
        }
        #expect(try ValetKeychain.lockState == .absent)
    }

    private func within(
        _ failures: ArraySlice<ScriptedFailure>, _ body: () async throws -> Void
    ) async throws {
        guard let first = failures.first else { return try await body() }
        try await withKeychainFailure(first) { () async throws in
            try await within(failures.dropFirst(), body)
        }
    }

    @Test func `A scripted state is that of the next call, and asking for it is not counted`()
        throws
    {
        try withKeychainFailure(.locked.atCall(2)) { () throws in
            for _ in 0..<3 { #expect(try ValetKeychain.lockState == .absent) }
            #expect(Door.secItem.set("a") == noErr)
            for _ in 0..<3 { #expect(try ValetKeychain.lockState == .locked) }
            #expect(Door.secItem.set("b") == errSecInteractionNotAllowed)
            #expect(try ValetKeychain.lockState == .noPasscode)
            #expect(Door.secItem.set("b") == noErr)
        }
    }

    @Test func `A scripted state is reported when it begins and when it ends`() async throws {
        var states = ValetKeychain.lockStateChanges.makeAsyncIterator()
        #expect(try await states.next() == .absent)
        try await withKeychainFailure(.locked) { () async throws in
            #expect(try await states.next() == .locked)
            try await withKeychainFailure(.keyUnavailable) { () async throws in
                #expect(try await states.next() == .keyUnavailable)
            }
            #expect(try await states.next() == .locked)
        }
        #expect(try await states.next() == .absent)
    }

    @Test func `A scripted state that calls bring about is reported to a waiting task`()
        async throws
    {
        try await withKeychainFailure(.locked.fromCall(2)) { () async throws in
            async let seen = states(until: .locked)
            #expect(Door.secItem.set("a") == noErr)
            #expect(try await seen.last == .locked)
        }
    }

    @Test func `A scripted state ends for tasks that outlive it`() async throws {
        let watching = withKeychainFailure(.locked) {
            Task { try await states(until: .absent) }
        }
        #expect(try await watching.value.last == .absent)
        let (gate, opening) = AsyncStream<Void>.makeStream()
        let storing = withKeychainFailure(.beforeFirstUnlock) {
            #expect(Door.secItem.set("key") == errSecInteractionNotAllowed)
            return Task {
                for await _ in gate {}
                return Door.secItem.set("key")
            }
        }
        opening.finish()
        #expect(await storing.value == noErr)
    }

    private func states(until last: ValetKeychain.LockState) async throws -> [ValetKeychain
        .LockState]
    {
        var states: [ValetKeychain.LockState] = []
        for try await state in ValetKeychain.lockStateChanges {
            states.append(state)
            if state == last { break }
        }
        return states
    }

    @Test func `Waiting for an available keychain waits until the scripted state ends`()
        async throws
    {
        let waiting = await withKeychainFailure(.locked) {
            #expect(await wait(.now, kSecAttrAccessibleWhenUnlocked) == .locked)
            #expect(await wait(.now, kSecAttrAccessibleAfterFirstUnlock) == nil)
            return Task { await wait(.now + .seconds(60), kSecAttrAccessibleWhenUnlocked) }
        }
        #expect(await waiting.value == nil)
    }

    @Test func `Waiting for an unknown scripted state ends at the deadline`() async {
        await withKeychainFailure(.slow(.seconds(3600))) {
            #expect(await wait(.now, kSecAttrAccessibleWhenUnlocked) == .timedOut)
        }
    }

    private func wait(
        _ deadline: ContinuousClock.Instant, _ accessible: CFString
    ) async -> KeychainFailure.Code? {
        do throws(KeychainFailure) {
            try await ValetKeychain.waitUntilAvailable(
                for: accessible as String, deadline: deadline)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `A scripted state ends with its keychain`() throws {
        let keychain = TemporaryKeychain()
        keychain.remove()
        keychain.use {
            let failure = #expect(throws: KeychainFailure.self) { try ValetKeychain.lockState }
            #expect(failure?.code == .invalidRequest)
        }
    }
}
