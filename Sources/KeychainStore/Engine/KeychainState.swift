// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSealing

/// What a process knows of a keychain, with the keys that are open.
///
/// Valid for as long as the database shows the same stamp, and the lock state the same keys.
final class KeychainState: Sendable {
    let facts: KeychainFacts
    /// The epoch that is written under.
    let newest: KeychainEpoch
    /// The epoch that gives way, whose rows are still read.
    let older: KeychainEpoch?
    /// Where the keys came from; nil for a keychain without a passcode.
    let opened: OpenedKeys?
    /// Programs that are known to be on record.
    private let recordedPrograms = Mutex<Set<ProgramRecord>>([])

    /// - Parameters:
    ///   - keys: Of each keybag of `facts`, the newest first.
    ///   - opened: What `keys` were taken from, if others share it.
    /// - Throws: ``KeybagError``: `malformed`, `newer`.
    init(
        _ facts: KeychainFacts, _ keys: [UnlockedKeybag], opened: OpenedKeys?
    ) throws(KeybagError) {
        self.facts = facts
        self.opened = opened
        newest = try KeychainEpoch(facts.newest, keys[0])
        older =
            if let old = facts.older { try KeychainEpoch(old, keys[1]) } else { nil }
    }

    /// The same keys as `facts` have them, which may be those of when one epoch has given way; nil
    /// if they have others.
    ///
    /// - Throws: ``KeybagError``: `malformed`, `newer`.
    func following(_ facts: KeychainFacts) throws(KeybagError) -> KeychainState? {
        if facts.settings == settings { return self }
        // The digests: the keybags are those that were opened, and nobody has changed them.
        guard facts.marks.allSatisfy(self.facts.marks.contains) else { return nil }
        let own = [newest, older].compactMap { $0?.keys }
        let keys = facts.keybags.compactMap { keybag in
            own.first { $0.epoch == keybag.epoch }
        }
        return try KeychainState(facts, keys, opened: nil)
    }

    /// Whether these are the keys that `keys` holds.
    func isOpened(by keys: OpenedKeys?) -> Bool {
        guard let keys else { return false }
        return opened === keys
    }

    /// Whether all keys that there are are open.
    var isComplete: Bool {
        newest.isComplete && older?.isComplete != false
    }

    var settings: KeychainSettings { facts.settings }

    /// Hashes what is written.
    var hasher: IndexHasher { newest.hasher }

    /// Hashes what is searched: rows are found by the hashes of their own epoch.
    var hashers: [IndexHasher] {
        guard let older else { return [newest.hasher] }
        return [newest.hasher, older.hasher]
    }

    /// What seals rows of `protectionClass`.
    ///
    /// - Throws: ``KeychainFailure``: `locked`; `passcodeNotSet` for the class that needs a
    ///   passcode.
    func cipher(
        _ protectionClass: ProtectionClass, during operation: String
    ) throws(KeychainFailure) -> ItemCipher {
        guard let keys = newest.keys.keys(of: protectionClass) else {
            guard !newest.hasKey(of: protectionClass) else { throw .locked(operation) }
            throw KeychainFailure(
                .passcodeNotSet, during: operation,
                hint: "set one with `valet passcode set`; other accessibilities need none")
        }
        noteUse(of: protectionClass)
        return ItemCipher(
            keychainID: settings.keychainID, keys: keys, recipients: newest.recipients)
    }

    /// What opens the row of `header`.
    ///
    /// - Throws: ``RowFailure``: `seal` for a row that names no key of this keychain, `locked` for
    ///   one whose key is not open.
    func cipher(opening header: RowHeader) throws(RowFailure) -> ItemCipher {
        let cipher = try cipher(examining: header)
        noteUse(of: header.protectionClass)
        return cipher
    }

    /// As ``cipher(opening:)``, for maintenance of the keychain: that does not count as its use.
    func cipher(examining header: RowHeader) throws(RowFailure) -> ItemCipher {
        guard let epoch = epoch(of: header) else { throw .seal }
        guard let keys = epoch.keys.keys(of: header.protectionClass) else { throw .locked }
        return ItemCipher(
            keychainID: settings.keychainID, keys: keys, recipients: epoch.recipients)
    }

    /// Keeps an unlocked keychain from locking itself: docs/decisions/0020-auto-lock.md.
    private func noteUse(of protectionClass: ProtectionClass) {
        if protectionClass.scope == .whileUnlocked { facts.lockState?.noteUse() }
    }

    /// The epoch whose key the row of `header` names.
    private func epoch(of header: RowHeader) -> KeychainEpoch? {
        if newest.isNamed(by: header) { return newest }
        guard let older, older.isNamed(by: header) else { return nil }
        return older
    }

    /// Whether the row of `header` names a key of one of these epochs.
    func knows(_ header: RowHeader) -> Bool { epoch(of: header) != nil }

    /// What the row of `header` is found by.
    func hasher(of header: RowHeader) -> IndexHasher {
        epoch(of: header)?.hasher ?? newest.hasher
    }

    /// Whether the row of `header` was written under the epoch that is written under now.
    func isNewest(_ header: RowHeader) -> Bool { newest.isNamed(by: header) }

    /// Whether this process has seen the program on record.
    func hasRecorded(_ program: ProgramRecord) -> Bool {
        recordedPrograms.withLock { $0.contains(program) }
    }

    func remember(_ program: ProgramRecord) {
        recordedPrograms.withLock { _ = $0.insert(program) }
    }
}
