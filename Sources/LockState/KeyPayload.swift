// SPDX-License-Identifier: Apache-2.0

internal import Keybag
internal import KeychainModel
internal import Sealing

/// The keys of one scope, of one epoch or two, as they lie in the kernel: docs/FORMAT.md §10.
final class KeyPayload: Sendable {
    /// The largest that there can be; what is longer is no payload.
    static let maximumByteCount = 1024

    let keychainID: KeychainID
    let scope: KeyScope
    /// One or two, in rising order.
    let epochs: [Part]
    /// When the keys may no longer be used; nil for never.
    let deadline: BootTime?

    /// The keys of one epoch.
    final class Part: Sendable {
        let mark: EpochMark
        /// In the order of their numbers, as the scope demands.
        let classes: [ClassKeys]
        /// Beside the keys that stay from the first unlock on, and only there.
        let index: IndexKey?

        init(mark: EpochMark, classes: [ClassKeys], index: consuming IndexKey?) {
            self.mark = mark
            self.classes = classes
            self.index = index
        }
    }

    /// Takes parts that a parser has checked.
    init(keychainID: KeychainID, scope: KeyScope, epochs: [Part], deadline: BootTime?) {
        self.keychainID = keychainID
        self.scope = scope
        self.epochs = epochs
        self.deadline = deadline
    }

    /// Takes what belongs to `scope` out of opened keys.
    ///
    /// - Parameter deadline: For keys that stay from the first unlock on there is none.
    /// - Throws: ``LockStateError/Code/wrongKeys`` unless there are one or two epochs of one
    ///   keychain, in rising order, with a key of each class that has to be there.
    convenience init(
        _ scope: KeyScope, of keychainID: KeychainID, from epochs: [EpochKeys],
        deadline: BootTime?
    ) throws(LockStateError) {
        guard (1...2).contains(epochs.count),
            epochs.count == 1 || epochs[0].keybag.epoch < epochs[1].keybag.epoch
        else { throw LockStateError(.wrongKeys, during: .encode) }
        var parts: [Part] = []
        for keys in epochs {
            guard keys.keybag.keychainID == keychainID, keys.keybag.epoch.rawValue > 0 else {
                throw LockStateError(.wrongKeys, during: .encode)
            }
            parts.append(try Part(scope, of: keys))
        }
        let ends = scope == .whileUnlocked ? deadline : nil
        self.init(keychainID: keychainID, scope: scope, epochs: parts, deadline: ends)
    }

    /// The same keys until another moment.
    func renewed(until deadline: BootTime?) -> KeyPayload {
        KeyPayload(keychainID: keychainID, scope: scope, epochs: epochs, deadline: deadline)
    }

    /// Whether the moment after which the keys may not be used has come.
    func hasEnded(at now: BootTime) -> Bool {
        guard let deadline else { return false }
        return deadline <= now
    }

    /// Whether the keys of all these epochs are here.
    func contains(_ marks: [EpochMark]) -> Bool {
        marks.allSatisfy { mark in epochs.contains { $0.mark == mark } }
    }
}

extension KeyPayload.Part {
    /// Takes what belongs to `scope` out of the keys of an epoch.
    convenience init(_ scope: KeyScope, of keys: EpochKeys) throws(LockStateError) {
        let classes = keys.keybag.keys(in: scope)
        guard classes.map(\.protectionClass).starts(with: scope.requiredClasses) else {
            throw LockStateError(.wrongKeys, during: .encode)
        }
        guard scope == .afterFirstUnlock else {
            self.init(mark: keys.mark, classes: classes, index: nil)
            return
        }
        self.init(mark: keys.mark, classes: classes, index: try keys.keybag.index.copied())
    }
}

extension IndexKey {
    /// Another owner of the same key.
    borrowing func copied() throws(LockStateError) -> IndexKey {
        try withBytes { (bytes: Span<UInt8>) throws(LockStateError) in
            try IndexKey(payload: bytes)
        }
    }
}
