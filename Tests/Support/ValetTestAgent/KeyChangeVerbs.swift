// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing
import ValetTPM

/// Changes the keys of a keychain, as fast as a passcode may be stretched.
///
/// Passcodes are words; `-` is none. `~N` is one that is written down nowhere, made of the number.
/// `$VALET_TEST_TPM` names the socket of a TPM; nothing but this program knows that variable.
struct KeyChangeVerbs {
    static let verbs: Set<String> = [
        "passcode", "rotate", "bind", "recovery", "unlock", "lock", "state", "classes", "fill",
        "empty", "readable", "mark", "guarded", "diagnose", "circle",
    ]

    /// One for all, so that what it keeps between calls is kept.
    private static let shared = Result { () throws(KeychainFailure) in
        try session(stretching: .lowest)
    }

    /// One of this process's keychain, with the TPM that it is to use.
    static func session(
        stretching: PasscodeStretching
    ) throws(KeychainFailure) -> KeychainSession {
        let current = try KeychainSession.current()
        var location = current.store.location
        if let socket = ProcessInfo.processInfo.environment["VALET_TEST_TPM"] {
            location = KeychainLocation(location, tpm: TPMDevice(.socket(path: socket)))
        }
        return KeychainSession(ItemStore(location, stretching: stretching), current.caller)
    }

    private let session: KeychainSession
    private var store: ItemStore { session.store }

    init() throws { session = try Self.shared.get() }

    func perform(_ verb: String, _ words: [String]) throws -> String {
        let words = words + ["-", "-", "-"]
        switch verb {
        case "passcode": try changePasscode(words)
        case "rotate": try store.keychain.rotateKeys(Self.passcode(words[0]))
        case "bind":
            try store.keychain.rotateKeys(
                Self.passcode(words[1]),
                movingDeviceKeyTo: ["file": .ownFile, "tpm": .tpm][words[0]] ?? .keyFile)
        case "recovery": return try recover(words)
        case "circle":
            try store.keychain.setSyncSecrets(
                .random(), .random(), passcode: Self.passcode(words[0]))
        case "unlock": try store.keychain.unlock(Self.required(words[0]))
        case "lock": try store.keychain.lock(all: words[0] == "all")
        case "classes": try addItemOfEachClass()
        case "guarded": try addItemsThatNeedPerson()
        case "diagnose":
            return store.keychain.diagnose().filter {
                $0.severity != .fine && $0.severity != .warning
            }
            .map(\.message).joined(separator: "; ")
        case "fill":
            try fill(Int(words[0]) ?? 0, isSynchronizable: words.dropFirst().first == "cloud")
        case "empty":
            let filled = ItemQuery(.genericPassword, attributes: [.service: .text("fill")])
            return "\(try session.delete(filled))"
        // A system call that a trace is searched for.
        case "mark": _ = FileManager.default.fileExists(atPath: "/mark-\(words[0])")
        case "readable":
            let guarded = words[0] == "-" ? [] : try readable(with: words[0])
            return (readable + guarded).joined(separator: " ")
        default: return try state()
        }
        return ""
    }

    private func changePasscode(_ words: [String]) throws {
        switch words[0] {
        case "set": try store.keychain.setPasscode(Self.required(words[1]))
        case "change":
            try store.keychain.changePasscode(Self.required(words[1]), to: Self.required(words[2]))
        default: try store.keychain.removePasscode(Self.required(words[1]))
        }
    }

    private func recover(_ words: [String]) throws -> String {
        switch words[0] {
        case "create":
            let text = try store.keychain.createRecoveryKey(Self.passcode(words[1]))
            return text.withBytes { bytes in
                String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
            }
        case "use":
            try store.keychain.recover(
                with: SecretBytes(copying: Array(words[1].utf8).span),
                settingPasscode: Self.passcode(words[2]))
        default: try store.keychain.rotateKeys(Self.passcode(words[1]), revokingRecoveryKey: .any)
        }
        return ""
    }

    private func state() throws -> String {
        let status = try store.keychain.status()
        return "\(status.state) epoch=\(status.epoch ?? 0)"
            + " erase=\(status.isErasePending) items=\(status.itemCount ?? 0)"
            + " quarantined=\(status.quarantinedRowCount ?? 0)"
            + " keys=\(status.lockStateProvider ?? "none")"
    }

    // Items, of which each has the name of its class.

    private func addItemOfEachClass() throws {
        let hasPasscode = try store.keychain.status().level == .passcode
        for protectionClass in ProtectionClass.allCases
        where hasPasscode || protectionClass != .whenPasscodeSetThisDeviceOnly {
            let name = "\(protectionClass)"
            try session.set(
                NewItem(
                    .genericPassword, attributes: [.account: .text(name)],
                    protectionClass: protectionClass), value: Self.value(name))
        }
    }

    private static let guarded: [(name: String, AccessControl.Constraints, ProtectionClass)] = [
        ("bound", .devicePasscode, .whenPasscodeSetThisDeviceOnly),
        ("gated", .userPresence, .whenUnlocked),
    ]

    private func addItemsThatNeedPerson() throws {
        for (name, constraints, protectionClass) in Self.guarded {
            var item = NewItem(.genericPassword, attributes: [.account: .text(name)])
            item.accessControl = try AccessControl(protectionClass, constraints)
            try session.set(item, value: Self.value(name))
        }
    }

    /// Names of the items that need a person and can be read with the passcode.
    private func readable(with word: String) throws -> [String] {
        let proof = try store.presenceProof(passcode: SecretBytes(copying: Array(word.utf8).span))
        let access = PresenceAccess(.demanding, proof: proof)
        return Self.guarded.compactMap { name, _, _ in
            let query = ItemQuery(.genericPassword, attributes: [.account: .text(name)])
            do throws(KeychainFailure) {
                let answer = try store.value(of: query, for: session.caller, access)
                if case .absent = answer { return nil }
                guard case .found(let found) = answer, Self.isValue(found, of: name) else {
                    return "!\(name)"
                }
                return name
            } catch {
                return "!\(name)"
            }
        }
    }

    /// Names of classes whose items can be read; one with another value than it was given is `!`.
    private var readable: [String] {
        ProtectionClass.allCases.compactMap { protectionClass in
            let name = "\(protectionClass)"
            let query = ItemQuery(.genericPassword, attributes: [.account: .text(name)])
            do throws(KeychainFailure) {
                let found = try session.value(of: query)
                return Self.isValue(found, of: name) ? name : "!\(name)"
            } catch {
                return error.code == .damaged ? "!\(name)" : nil
            }
        }
    }

    /// Adds so many items, many in one transaction.
    private func fill(_ count: Int, isSynchronizable: Bool) throws {
        for start in stride(from: 0, to: count, by: 1000) {
            try session.set(
                (start..<min(count, start + 1000)).map { number in
                    let attributes: ItemAttributes = [
                        .account: .text("filler \(number)"), .service: .text("fill"),
                    ]
                    return Addition(
                        NewItem(
                            .genericPassword, attributes: attributes,
                            isSynchronizable: isSynchronizable),
                        value: Self.value("filler \(number)")
                    )
                })
        }
    }

    private static func isValue(_ found: SecretValue?, of name: String) -> Bool {
        let bytes = found?.withBytes { bytes in bytes.indices.map { bytes[$0] } }
        return bytes == Array("value of \(name)".utf8)
    }

    private static func value(_ name: String) -> SecretValue {
        SecretValue(copying: Array("value of \(name)".utf8).span)
    }

    // Passcodes.

    private static func required(_ word: String) throws -> Passcode {
        guard let passcode = try passcode(word) else { throw CocoaError(.formatting) }
        return passcode
    }

    private static func passcode(_ word: String) throws -> Passcode? {
        if word == "-" { return nil }
        guard word.first == "~", let seed = UInt32(word.dropFirst()) else {
            return try Passcode(SecretBytes(copying: Array(word.utf8).span))
        }
        return try Passcode(Leak.pattern(seed: seed))
    }
}
