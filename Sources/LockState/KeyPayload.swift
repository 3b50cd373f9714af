// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing

/// The keys of one scope, of one epoch or two, as they lie in the kernel: docs/FORMAT.md §10.4.
final class KeyPayload: Sendable {
    /// The largest that there can be; what is longer is no payload.
    static let maximumByteCount = 1024

    let keychainID: KeychainID
    let scope: KeyScope
    /// One or two, in rising order.
    let epochs: [Part]
    /// Until when the keys may be used; unlimited for those that stay from the first unlock on.
    let period: UnlockPeriod

    /// The keys of one epoch.
    final class Part: Sendable {
        let mark: EpochMark
        /// In the order of their numbers, as the scope demands.
        let classes: [ClassKeys]
        /// Beside the keys that stay from the first unlock on, and only there.
        let index: IndexKey?
        /// The secret half of the presence pair `person`: beside the other keys only.
        let person: AgreementSecret?

        init(
            mark: EpochMark, classes: [ClassKeys], index: consuming IndexKey? = nil,
            person: consuming AgreementSecret? = nil
        ) {
            self.mark = mark
            self.classes = classes
            self.index = index
            self.person = person
        }
    }

    /// Takes parts that a parser has checked.
    init(keychainID: KeychainID, scope: KeyScope, epochs: [Part], period: UnlockPeriod) {
        self.keychainID = keychainID
        self.scope = scope
        self.epochs = epochs
        self.period = period
    }

    /// Takes what belongs to `scope` out of opened keys.
    ///
    /// - Parameter period: Keys that stay from the first unlock on have none.
    /// - Throws: ``LockStateError/Code/wrongKeys`` unless there are one or two epochs of one
    ///   keychain, in rising order, with a key of each class that has to be there.
    convenience init(
        _ scope: KeyScope, of keychainID: KeychainID, from epochs: [EpochKeys],
        period: UnlockPeriod
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
        self.init(
            keychainID: keychainID, scope: scope, epochs: parts,
            period: scope == .whileUnlocked ? period : .unlimited)
    }

    /// When the keys may no longer be used; nil for never.
    var deadline: BootTime? { period.deadline }

    /// The same keys for another time.
    func lasting(_ period: UnlockPeriod) -> KeyPayload {
        KeyPayload(keychainID: keychainID, scope: scope, epochs: epochs, period: period)
    }

    /// Whether the keys are those of `other`, whatever their time.
    func holdsSameKeys(as other: KeyPayload) -> Bool {
        keychainID == other.keychainID && scope == other.scope
            && epochs.elementsEqual(other.epochs) { $0.holdsSameKeys(as: $1) }
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
        switch scope {
        case .whileUnlocked:
            self.init(mark: keys.mark, classes: classes, person: try keys.keybag.copiedPerson())
        case .afterFirstUnlock:
            self.init(mark: keys.mark, classes: classes, index: try keys.keybag.index.copied())
        }
    }

    fileprivate func holdsSameKeys(as other: KeyPayload.Part) -> Bool {
        mark == other.mark && Self.areSame(index, other.index)
            && Self.areSame(person, other.person)
            && classes.elementsEqual(other.classes) { one, another in
                one.protectionClass == another.protectionClass && one.keyID == another.keyID
                    && one.attributes.isEqual(to: another.attributes)
                    && one.value.isEqual(to: another.value)
            }
    }

    private static func areSame<P>(
        _ one: borrowing SymmetricKey<P>?, _ other: borrowing SymmetricKey<P>?
    ) -> Bool {
        switch one {
        case .some(let one):
            switch other {
            case .some(let other): one.isEqual(to: other)
            case .none: false
            }
        case .none: other == nil
        }
    }

    /// Another owner of the secret half of the presence pair `person`.
    func copiedPerson() throws(LockStateError) -> AgreementSecret? {
        switch person {
        case .some(let person): try person.copied()
        case .none: nil
        }
    }
}

extension UnlockedKeybag {
    fileprivate func copiedPerson() throws(LockStateError) -> AgreementSecret? {
        switch person {
        case .some(let person): try person.copied()
        case .none: nil
        }
    }
}
