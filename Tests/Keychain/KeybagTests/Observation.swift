// SPDX-License-Identifier: Apache-2.0

import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

extension SecretBytes {
    /// A copy, to compare with.
    var array: [UInt8] { withBytes { bytes in bytes.indices.map { bytes[$0] } } }
}

extension SymmetricKey {
    /// A copy, to compare with.
    var array: [UInt8] { withBytes { bytes in bytes.indices.map { bytes[$0] } } }
}

extension Passcode {
    /// What was typed.
    convenience init(_ bytes: [UInt8]) throws(KeychainFailure) {
        try self.init(SecretBytes(copying: bytes.span))
    }

    /// The text in UTF-8.
    convenience init(_ text: String) throws(KeychainFailure) { try self.init(Array(text.utf8)) }
}

extension UnlockedKeybag {
    /// The classes that are open.
    var openClasses: [ProtectionClass] { ProtectionClass.allCases.filter { keys(of: $0) != nil } }

    /// The ids of the index key, and of each open class's key and subkeys.
    var ids: [KeyID] {
        [index.id]
            + ProtectionClass.allCases.compactMap { keys(of: $0) }.flatMap { one in
                [one.keyID, one.attributes.id, one.value.id]
            }
    }
}

extension KeychainFailure {
    /// What is wrong with the keybag or the text, by its words.
    var fault: KeybagFault? {
        let plain: [KeybagFault] = [
            .malformed, .newer, .tampered, .wrongDeviceSecret, .wrongPasscode, .wrongRecoveryKey,
            .noRecoveryKey, .outOfMemory, .needsProtector,
            .mistyped(.check),
        ]
        let numbered = (0...2000).lazy.flatMap {
            [
                KeybagFault.mistyped(.character(position: $0)),
                .mistyped(.length(characterCount: $0, expected: 40)),
            ]
        }
        return plain.first { $0.words == message } ?? numbered.first { $0.words == message }
    }
}

/// What is wrong by what `body` throws; nil if it throws nothing.
func code(_ body: () throws -> Void) -> KeybagFault? {
    do {
        try body()
        return nil
    } catch {
        return (error as? KeychainFailure)?.fault
    }
}
