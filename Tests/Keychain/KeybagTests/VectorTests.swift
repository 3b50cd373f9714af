// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetKeys

/// The bytes of docs/FORMAT.md, made by a program that knows nothing but that page.
@Suite struct `The vectors of passcodes and recovery keys` {
    /// §4.2, §4.5.
    @Test(arguments: try Vector.all("passcode"))
    func `The vectors of keybags open with a passcode`(_ vector: Vector) throws {
        let (bytes, settings) = (try vector.bytes("keybag"), try vector.bytes("settings"))
        let passcode = try Passcode(vector.bytes("passcode"))
        try vector.check {
            let locked = try LockedKeybag(parsing: bytes)
            #expect(locked.encoded == bytes)
            let protector = try Protector(
                Self.secret(vector), passcode: passcode, opening: locked)
            let keys = try locked.unlock(with: protector, settings: settings)
            #expect(try locked.digest(settings: settings).bytes == vector.bytes("digest"))
            try Self.expect(keys, are: vector)
        }
    }

    // Promise: 11.6
    /// §4.2, §4.8.
    @Test(arguments: try Vector.all("tpm"))
    func `The vectors of keybags open with a TPM`(_ vector: Vector) throws {
        let (bytes, settings) = (try vector.bytes("keybag"), try vector.bytes("settings"))
        let (passcode, unsealed) = (try vector.bytes("passcode"), try vector.bytes("unsealed"))
        try vector.check {
            let locked = try LockedKeybag(parsing: bytes)
            #expect(locked.encoded == bytes)
            guard let object = locked.tpmPasscodeObject else {
                let protector = Protector(try Self.secret(vector))
                try Self.expect(locked.unlock(with: protector, settings: settings), are: vector)
                return
            }
            let typed = try StretchedRecord(Passcode(passcode), opening: locked)
            if vector.has("authorization") {
                #expect(try typed.authorization.array == vector.bytes("authorization"))
            }
            let protector = try Protector(
                Self.secret(vector), passcode: typed,
                unsealed: TPMPasscodeSecret(copying: unsealed.span), object: object)
            try Self.expect(locked.unlock(with: protector, settings: settings), are: vector)
        }
    }

    /// §4.6.
    @Test(arguments: try Vector.all("recovery"))
    func `The vectors of keybags open with a recovery key`(_ vector: Vector) throws {
        let (bytes, text) = (try vector.bytes("keybag"), try vector.bytes("text"))
        let settings = try vector.bytes("settings")
        try vector.check {
            let locked = try LockedKeybag(parsing: bytes)
            #expect(locked.encoded == bytes)
            let protector = RecoveryProtector(
                try RecoveryKey(parsing: text.span),
                deviceSecret: vector.has("secret") ? try Self.secret(vector) : nil)
            try Self.expect(locked.unlock(with: protector, settings: settings), are: vector)
        }
    }

    /// §4.6.
    @Test(arguments: try Vector.all("recovery-key"))
    func `The vectors of keybags are typed`(_ vector: Vector) throws {
        let text = try vector.bytes("text")
        try vector.check {
            let key = try RecoveryKey(parsing: text.span)
            #expect(try key.seed.array == vector.bytes("seed"))
            #expect(try key.pair.secret.array == vector.bytes("secret"))
            #expect(try key.publicKey.bytes == vector.bytes("public_key"))
            #expect(try key.text.array == vector.bytes("printed"))
        }
    }

    /// §4.6.
    @Test(arguments: try Vector.all("recovery-key").filter { $0.outcome == .malformed })
    func `The vectors of keybags are mistyped`(_ vector: Vector) throws {
        let text = try vector.bytes("text")
        let mistake = try Self.mistake(vector)
        #expect(
            code { _ = try RecoveryKey(parsing: text.span) } == .mistyped(mistake))
    }

    private static func secret(_ vector: Vector) throws -> DeviceSecret {
        let bytes = try vector.bytes("secret")
        return try DeviceSecret(copying: bytes.span)
    }

    private static func mistake(_ vector: Vector) throws -> CheckedText.Mistake {
        let words = try vector.text("mistake").split(separator: " ")
        switch (words[0], words.dropFirst().first.flatMap { Int($0) }) {
        case ("check", nil): return .check
        case ("length", let count?): return .length(characterCount: count, expected: 40)
        case ("character", let position?): return .character(position: position)
        default: throw Vector.Mistake(text: vector.description)
        }
    }

    private static func expect(_ keys: UnlockedKeybag, are vector: Vector) throws {
        #expect(try keys.keychainID.bytes == vector.bytes("keychain"))
        #expect(try keys.epoch.rawValue == vector.number("epoch"))
        #expect(try keys.index.array == vector.bytes("index"))
        let classes = ProtectionClass.allCases.compactMap(keys.keys(of:))
        #expect(classes.map { "\($0.protectionClass.rawValue)" } == vector.texts("protection"))
        #expect(try classes.map { $0.keyID.bytes } == vector.list("key_id"))
        #expect(try classes.map { $0.attributes.array } == vector.list("attributes_subkey"))
        #expect(try classes.map { $0.value.array } == vector.list("value_subkey"))
    }
}

extension Vector {
    /// Runs `body`, which must do what the file says: end well, or throw that very code.
    func check(_ body: () throws -> Void) throws {
        try check({ (error: KeychainFailure) in error.fault?.outcome }, body)
    }
}

extension KeybagFault {
    fileprivate var outcome: Vector.Outcome? {
        switch self {
        case .malformed, .mistyped: .malformed
        case .newer: .unsupported
        case .tampered: .tampered
        case .wrongDeviceSecret: .wrongSecret
        case .wrongPasscode: .wrongPasscode
        case .wrongRecoveryKey: .wrongRecoveryKey
        case .noRecoveryKey: .noRecoveryKey
        case .needsProtector: .needsProtector
        case .outOfMemory: nil
        }
    }
}
