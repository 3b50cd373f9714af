// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainSwift
internal import Security
internal import Testing
internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetTestSupport
internal import ValetTesting

/// A keychain that is brought into the state itself, to compare with.
extension TestKeychain {
    fileprivate static func real() -> TestKeychain {
        TestKeychain(application: "ValetTesting", groups: [])
    }

    fileprivate func bring(to state: FailureState) throws {
        if state != .keyUnavailable { try setPasscode() }
        switch state {
        case .locked: try store.keychain.lock()
        case .beforeFirstUnlock: try store.keychain.lock(all: true)
        case .keyUnavailable:
            let other = TestKeychain.real()
            SessionOverride.with(other.session) { _ = Door.secItem.set("key") }
            store.close()
            let path = "/device/device.key"
            try FileManager.default.removeItem(atPath: folder + path)
            try FileManager.default.moveItem(atPath: other.folder + path, toPath: folder + path)
        }
    }
}

enum FailureState: CaseIterable {
    case locked, beforeFirstUnlock, keyUnavailable

    var failure: ScriptedFailure {
        switch self {
        case .locked: .locked
        case .beforeFirstUnlock: .beforeFirstUnlock
        case .keyUnavailable: .keyUnavailable
        }
    }
}

/// What a keychain says of itself in all the ways that there are.
private struct Situation: Equatable {
    var state: ValetKeychain.LockState?
    var level: ValetKeychain.ProtectionLevel?
    var told: ValetKeychain.LockState?
    /// Why nobody can wait for items that a lock closes, and for those that it leaves open.
    var refusals: [KeychainFailure.Code?] = []

    init() async {
        state = try? ValetKeychain.lockState
        level = try? ValetKeychain.protectionLevel
        var changes = ValetKeychain.lockStateChanges.makeAsyncIterator()
        told = try? await changes.next()
        for accessible in [
            kSecAttrAccessibleWhenUnlocked, kSecAttrAccessibleAfterFirstUnlock,
        ] {
            do throws(KeychainFailure) {
                try await ValetKeychain.waitUntilAvailable(
                    for: accessible as String, deadline: .now)
                refusals.append(nil)
            } catch {
                refusals.append(error.code)
            }
        }
    }
}

@Suite struct `A scripted failure and a real one` {
    /// Items of a class that is closed while locked, and of one that is open.
    private func fill() {
        for door in Door.allCases {
            #expect(door.set("closed \(door)") == noErr)
            #expect(door.set("open \(door)", whileLocked: true) == noErr)
        }
        let keychain = KeychainSwift()
        keychain.synchronizable = true
        #expect(keychain.set("x", forKey: "cloud"))
    }

    /// What calls of all kinds answer.
    private func answers() -> [OSStatus] {
        var answers: [OSStatus] = []
        for door in Door.allCases {
            for isOpen in [false, true] {
                answers.append(door.get("closed \(door)", whileLocked: isOpen))
                answers.append(door.get("open \(door)", whileLocked: isOpen))
                answers.append(door.get("absent", whileLocked: isOpen))
                answers.append(door.set("closed \(door)", whileLocked: isOpen))
                answers.append(door.set("open \(door)", whileLocked: isOpen))
                answers.append(door.set("new \(door) \(isOpen)", whileLocked: isOpen))
            }
        }
        let keychain = KeychainSwift()
        for isSynchronizable in [false, true] {
            keychain.synchronizable = isSynchronizable
            _ = keychain.allKeys
            answers.append(keychain.lastResultCode)
            for key in ["cloud", "closed secItem", "open secItem", "absent"] {
                keychain.delete(key)
                answers.append(keychain.lastResultCode)
            }
            keychain.clear()
            answers.append(keychain.lastResultCode)
        }
        return answers
    }

    @Test(arguments: FailureState.allCases)
    func `A scripted failure and a real one report the same state`(_ state: FailureState)
        async throws
    {
        let real = TestKeychain.real()
        SessionOverride.with(real.session) { fill() }
        try real.bring(to: state)
        let wanted = await SessionOverride.with(real.session) { await Situation() }
        let scripted = await withTemporaryKeychain {
            fill()
            return await withKeychainFailure(state.failure) { await Situation() }
        }
        #expect(scripted == wanted)
    }

    @Test(arguments: FailureState.allCases)
    func `A scripted failure and a real one answer calls alike`(_ state: FailureState) throws {
        let real = TestKeychain.real()
        SessionOverride.with(real.session) { fill() }
        try real.bring(to: state)
        let wanted = SessionOverride.with(real.session) { answers() }
        let scripted = withTemporaryKeychain {
            fill()
            return withKeychainFailure(state.failure) { answers() }
        }
        #expect(scripted == wanted)
        #expect(Set(wanted).count >= (state == .locked ? 4 : 1))
    }
}
