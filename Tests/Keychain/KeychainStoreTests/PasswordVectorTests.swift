// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetSystem
import ValetTestValues

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §5.5, made by a program that knows nothing but that page.
@Suite struct `The vectors of items with a password` {
    @Test(arguments: try Vector.all("password"))
    func `The vectors of items with an application password open with it`(_ vector: Vector) throws {
        let opened: Opened
        do {
            opened = try Opened(vector)
        } catch is SystemError {
            #expect(vector.outcome == .tampered)
            return
        }
        let typed = try vector.bytes("password")
        let password = try StretchedPassword(
            SecretBytes(copying: typed.span), for: opened.box.lock)
        guard password.opens(opened.box.lock) else {
            #expect(vector.outcome == .wrongSecret)
            return
        }
        do {
            let value = try opened.box.open(with: password)
            #expect(vector.outcome == .success)
            #expect(try value.array == vector.bytes("value"))
            #expect(try opened.content == vector.content(valueByteCount: value.byteCount))
            let again = PasswordBox.seal(
                value, of: opened.box.lock.item, with: password, nonce: Self.nonce)
            #expect(again.array == opened.stored.array)
        } catch let error as SystemError {
            #expect(vector.outcome == .tampered && error.code == .damagedSeal)
        }
    }

    /// 90, 91 … 113.
    private static let nonce = Nonce(InlineArray { UInt8(90 + $0) })

    /// A row of a vector, up to its box.
    private struct Opened {
        let content: ItemContent
        let stored: SecretValue
        let box: PasswordBox

        init(_ vector: Vector) throws {
            let settings = try vector.bytes("settings")
            let (secret, passcode) = (
                try vector.bytes("device_secret"), try vector.bytes("passcode")
            )
            let locked = try LockedKeybag(parsing: try vector.bytes("keybag"))
            let protector = try Protector(
                DeviceSecret(copying: secret.span),
                passcode: Passcode(SecretBytes(copying: passcode.span)), opening: locked)
            let epoch = try KeychainEpoch(
                locked, locked.unlock(with: protector, settings: settings))
            let proof = PresenceProof(
                .passcode, keys: [try locked.presenceKeys(with: protector, settings: settings)])
            let row = try vector.row()
            let cipher = ItemCipher(
                keychainID: Vector.keychainID,
                keys: try #require(epoch.keys.keys(of: row.header.protectionClass)),
                recipients: epoch.recipients)
            content = try cipher.openContent(row)
            let sealed = try #require(row.secret)
            stored = try cipher.openValue(ValueParts(row), sealed.span, proof)
            box = try cipher.box(stored, row.header, content)
        }
    }
}
