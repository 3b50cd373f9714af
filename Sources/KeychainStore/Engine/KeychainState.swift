// SPDX-License-Identifier: Apache-2.0

internal import Keybag
internal import KeychainModel
internal import Sealing
internal import Synchronization

/// What a process knows of a keychain whose keys it has opened.
///
/// Valid for as long as the database shows the same stamp, which every call makes sure of: by
/// reading it, or by finding that nobody has written since it was read.
final class KeychainState: Sendable {
    let settings: KeychainSettings
    let deviceSource: DeviceSource
    let protector: ProtectorKind
    let keys: UnlockedKeybag
    let hasher: IndexHasher
    /// Programs that are known to be on record.
    private let recordedPrograms = Mutex<Set<ProgramRecord>>([])

    init(_ settings: KeychainSettings, _ locked: LockedKeybag, _ keys: UnlockedKeybag) {
        self.settings = settings
        deviceSource = locked.deviceSource
        protector = locked.protector
        self.keys = keys
        hasher = IndexHasher(keys)
    }

    /// What seals and opens rows of `protectionClass`.
    ///
    /// - Throws: ``KeychainFailure/Code/passcodeNotSet`` for the class that needs a passcode.
    func cipher(
        _ protectionClass: ProtectionClass, during operation: String
    ) throws(KeychainFailure) -> ItemCipher {
        guard let keys = keys.keys(of: protectionClass) else {
            throw KeychainFailure(
                .passcodeNotSet, during: operation,
                hint: "set a passcode first, or choose another accessibility")
        }
        return ItemCipher(keychainID: settings.keychainID, keys: keys)
    }

    /// What opens the row of `header`; nil if no key at hand has the id that the row names.
    func cipher(opening header: RowHeader) -> ItemCipher? {
        guard let keys = keys.keys(of: header.protectionClass), keys.keyID == header.keyID
        else {
            return nil
        }
        return ItemCipher(keychainID: settings.keychainID, keys: keys)
    }

    /// Whether this process has seen the program on record.
    func hasRecorded(_ program: ProgramRecord) -> Bool {
        recordedPrograms.withLock { $0.contains(program) }
    }

    func remember(_ program: ProgramRecord) {
        recordedPrograms.withLock { _ = $0.insert(program) }
    }
}
