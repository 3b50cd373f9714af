// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetSystem
import ValetTestValues

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §4.2, §5.2, §5.4, made by a program that knows nothing but that page.
@Suite struct `The vectors of items that need a person` {
    @Test(arguments: try Vector.all("presence"))
    func `The vectors of items that need the user open with the passcode`(_ vector: Vector) throws {
        let (settings, bag) = (try vector.bytes("settings"), try vector.bytes("keybag"))
        let secret = try vector.bytes("device_secret")
        let typed = try vector.bytes("passcode")
        let row = try vector.row()
        do {
            let locked = try LockedKeybag(parsing: bag)
            #expect(locked.encoded == bag)
            let protector = try Protector(
                DeviceSecret(copying: secret.span),
                passcode: Passcode(SecretBytes(copying: typed.span)), opening: locked)
            let epoch = try KeychainEpoch(
                locked, locked.unlock(with: protector, settings: settings))
            let keys = try locked.presenceKeys(with: protector, settings: settings)
            let (content, value) = try Self.open(row, epoch, PresenceProof(.passcode, keys: [keys]))
            #expect(vector.outcome == .success)
            #expect(try content == vector.content(valueByteCount: value.count))
            #expect(try value == vector.bytes("value"))
        } catch let error as KeychainFailure {
            #expect(vector.outcome == error.outcome, "\(error)")
        } catch is SystemError {
            #expect(vector.outcome == .tampered)
        }
    }

    private static func open(
        _ row: SealedRow, _ epoch: KeychainEpoch, _ proof: PresenceProof
    ) throws -> (ItemContent, [UInt8]) {
        let keys = try #require(epoch.keys.keys(of: row.header.protectionClass))
        #expect(row.header.epoch == Vector.epoch)
        let cipher = ItemCipher(
            keychainID: Vector.keychainID, keys: keys, recipients: epoch.recipients)
        let content = try cipher.openContent(row)
        let secret = try #require(row.secret)
        if row.header.flags.presence != nil {
            #expect(throws: SystemError.self) {
                _ = try cipher.openValue(ValueParts(row), secret.span)
            }
        }
        let value = try cipher.openValue(ValueParts(row), secret.span, proof)
        return (content, value.array)
    }
}
