// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Valet
import ValetCoreFoundationNames
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing
import ValetSecItem

/// Locks, unlocks and waits, through the API that applications have: the words after `app`.
enum Application {
    struct WrongUse: Error {}

    static func perform(_ verb: String, _ words: [String]) throws -> String {
        switch verb {
        case "passcode": try setPasscode(words[0])
        case "unlock": try unlock(words)
        case "unlockasync": try unlockAsync(words[0])
        case "lock": try ValetKeychain.lock()
        case "lockall": try ValetKeychain.lock(all: true)
        case "state": return try ValetKeychain.lockState.rawValue
        case "level": return try ValetKeychain.protectionLevel?.rawValue ?? "none"
        case "require": ValetKeychain.requireProtectionLevel(try level(words[0]))
        case "await": try wait(for: accessibility(words[0]), milliseconds: words[1])
        case "watch": Recorder.shared.start()
        case "seen": return Recorder.shared.seen(words[0])
        case "unwatch": return Recorder.shared.stop()
        case "keywatch": try KeyRecorder.shared.start(valet(accessibility(words[0])).keyChanges())
        case "keyseen": return KeyRecorder.shared.seen(words[0])
        case "can": return "\(valet(try accessibility(words[0])).canAccessKeychain())"
        case "setas": try valet(accessibility(words[0])).setString(words[2], forKey: words[1])
        case "getas": return try valet(accessibility(words[0])).string(forKey: words[1])
        case "hint": return KeychainFailure.last?.hint ?? "none"
        case "find": return "\(SecItemCall.count)"
        case "store": return "\(SecItemCall.store(words))"
        default: throw WrongUse()
        }
        return ""
    }

    /// The least stretching: it is set often.
    private static func setPasscode(_ text: String) throws {
        let store = ItemStore(try .ofThisProcess(), stretching: .lowest)
        try store.keychain.setPasscode(
            Passcode(SecretBytes(copying: Array(text.utf8).span)))
    }

    /// The passcode, then milliseconds for both limits, or `-` for none.
    private static func unlock(_ words: [String]) throws {
        let passcode = Array(words[0].utf8)
        let limits = words.dropFirst().map { Int($0).map { Duration.milliseconds($0) } }
        try ValetKeychain.unlock(
            passcode: passcode.span, for: limits.first ?? nil,
            autoLock: limits.dropFirst().first ?? nil)
    }

    private static func unlockAsync(_ text: String) throws {
        try finish { () async throws(KeychainFailure) in
            try await ValetKeychain.unlock(passcode: Array(text.utf8))
        }
    }

    private static func wait(for accessibility: Accessibility, milliseconds: String) throws {
        let limit = Duration.milliseconds(Int(milliseconds) ?? 0)
        try finish { () async throws(KeychainFailure) in
            try await ValetKeychain.waitUntilAvailable(for: accessibility, deadline: .now + limit)
        }
    }

    /// Runs `body` as a task and waits for it.
    static func finish(
        _ body: @escaping @Sendable () async throws(KeychainFailure) -> Void
    ) throws {
        let done = DispatchSemaphore(value: 0)
        let outcome = Outcome()
        Task {
            do throws(KeychainFailure) { try await body() } catch { outcome.keep(error) }
            done.signal()
        }
        done.wait()
        if let failure = outcome.failure { throw failure }
    }

    private static func level(_ name: String) throws -> ValetKeychain.ProtectionLevel {
        guard let level = ValetKeychain.ProtectionLevel(rawValue: name) else { throw WrongUse() }
        return level
    }

    private static func accessibility(_ name: String) throws -> Accessibility {
        switch name {
        case "ak": return .whenUnlocked
        case "ck": return .afterFirstUnlock
        case "aku": return .whenUnlockedThisDeviceOnly
        case "cku": return .afterFirstUnlockThisDeviceOnly
        case "akpu": return .whenPasscodeSetThisDeviceOnly
        default: throw WrongUse()
        }
    }

    private static func valet(_ accessibility: Accessibility) -> Valet {
        guard let identifier = Identifier(nonEmpty: "integration") else {
            preconditionFailure("the identifier is not empty")
        }
        return Valet.valet(with: identifier, accessibility: accessibility)
    }
}

/// A request in the form of dictionaries.
enum SecItemCall {
    /// What a search for everything answers.
    static var count: OSStatus {
        let query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll,
            kSecReturnAttributes: true,
        ]
        return SecItemCopyMatching(query as CFDictionary, nil)
    }

    /// Stores a generic password: its accessibility as Apple spells it, service, account, value.
    static func store(_ words: [String]) -> OSStatus {
        let attributes: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccessible: words[0],
            kSecAttrService: words[1], kSecAttrAccount: words[2],
            kSecValueData: Data(words[3].utf8),
        ]
        return SecItemAdd(attributes as CFDictionary, nil)
    }
}

private final class Outcome: Sendable {
    private let kept = Mutex<KeychainFailure?>(nil)

    var failure: KeychainFailure? { kept.withLock { $0 } }

    func keep(_ failure: KeychainFailure) { kept.withLock { $0 = failure } }
}
