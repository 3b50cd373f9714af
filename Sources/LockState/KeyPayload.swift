// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory

/// The keys of one scope, of one or two epochs, as the kernel stores them: docs/FORMAT.md §10.4.
/// ``SharedLockState`` publishes and reads payloads; ``ProcessLockState`` keeps them unsealed.
final class KeyPayload: Sendable {
    /// The most bytes of a payload.
    static let maximumByteCount = 1024

    let keychainID: KeychainID
    let scope: KeyScope
    /// One or two, in rising order.
    let epochs: [Part]
    /// How long the keys may be used; unlimited for the scope `afterFirstUnlock`.
    let period: UnlockPeriod

    /// The keys of one epoch.
    final class Part: Sendable {
        let mark: EpochMark
        /// In the order of their numbers.
        let classes: [ClassKeys]
        /// Only in the scope `afterFirstUnlock`.
        let index: IndexKey?
        /// The secret half of the presence pair `person`; only in the scope `whileUnlocked`.
        let person: AgreementSecret?
        /// The sync secret of the scope.
        let sync: SyncSecret?

        init(
            mark: EpochMark, classes: [ClassKeys], index: consuming IndexKey? = nil,
            person: consuming AgreementSecret? = nil, sync: consuming SyncSecret?
        ) {
            self.mark = mark
            self.classes = classes
            self.index = index
            self.person = person
            self.sync = sync
        }
    }

    /// Makes a payload of checked parts.
    init(keychainID: KeychainID, scope: KeyScope, epochs: [Part], period: UnlockPeriod) {
        self.keychainID = keychainID
        self.scope = scope
        self.epochs = epochs
        self.period = period
    }

    /// Makes the payload of `scope` from opened keys.
    ///
    /// - Parameter period: Ignored for the scope `afterFirstUnlock`, which has no end.
    /// - Throws: ``LockStateError/Code/wrongKeys`` unless there are one or two epochs of this
    ///   keychain, in rising order, with a key of each required class.
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

    /// The same keys for another period.
    func lasting(_ period: UnlockPeriod) -> KeyPayload {
        KeyPayload(keychainID: keychainID, scope: scope, epochs: epochs, period: period)
    }

    /// Whether the keys are those of `other`, for whatever period.
    func holdsSameKeys(as other: KeyPayload) -> Bool {
        keychainID == other.keychainID && scope == other.scope
            && epochs.elementsEqual(other.epochs) { $0.holdsSameKeys(as: $1) }
    }

    /// Whether it has the keys of all these epochs.
    func contains(_ marks: [EpochMark]) -> Bool {
        marks.allSatisfy { mark in epochs.contains { $0.mark == mark } }
    }
}

extension KeyPayload.Part {
    /// Makes the part of `scope` from the keys of an epoch.
    convenience init(_ scope: KeyScope, of keys: EpochKeys) throws(LockStateError) {
        let classes = keys.keybag.keys(in: scope)
        guard classes.map(\.protectionClass).starts(with: scope.requiredClasses) else {
            throw LockStateError(.wrongKeys, during: .encode)
        }
        let sync = keys.keybag.syncSecret(scope)
        switch scope {
        case .whileUnlocked:
            self.init(
                mark: keys.mark, classes: classes,
                person: AgreementSecret.copy(of: keys.keybag.person), sync: sync)
        case .afterFirstUnlock:
            self.init(
                mark: keys.mark, classes: classes, index: keys.keybag.index.copied(), sync: sync)
        }
    }

    fileprivate func holdsSameKeys(as other: KeyPayload.Part) -> Bool {
        mark == other.mark && Self.areSame(index, other.index)
            && Self.areSame(person, other.person) && Self.areSame(sync, other.sync)
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
}

/// Encoding and sealing: docs/FORMAT.md §10.4.
extension KeyPayload {
    static let magic = Array("VALETKEY".utf8)
    static let version: UInt16 = 2

    /// Magic and version, which authenticate with the sealed body.
    static let head: [UInt8] = {
        var head = magic
        head.append(bigEndian: version)
        return head
    }()

    /// Seals the payload for ``open(_:under:)``, with a new nonce each time.
    func sealed(under key: borrowing SharedPayloadKey) -> [UInt8] {
        let head = Self.head
        return body().withBytes { body in
            head + AEAD.seal(body, associatedData: head.span, under: key)
        }
    }

    /// The plaintext, for ``init(body:)``.
    func body() -> SecretBytes {
        SecretBytes(byteCount: byteCount, for: .keys) { (bytes: inout MutableSpan<UInt8>) in
            var writer = PayloadWriter()
            writer.write(keychainID, to: &bytes)
            writer.write(scope.rawValue, to: &bytes)
            writer.write(UInt8(epochs.count), to: &bytes)
            for part in epochs { part.write(with: &writer, to: &bytes) }
            for number in period.numbers { writer.write(number, to: &bytes) }
        }
    }

    private var byteCount: Int {
        16 + 1 + 1 + epochs.reduce(0) { $0 + $1.byteCount } + 3 * 8
    }
}

extension KeyPayload.Part {
    fileprivate var byteCount: Int {
        let indexByteCount = index == nil ? 0 : IndexKey.byteCount
        let personByteCount = index == nil ? PayloadWriter.byteCount(of: person) : 0
        return 8 + 32 + indexByteCount + 1 + classes.count * (1 + 16 + 32 + 32)
            + personByteCount + PayloadWriter.byteCount(of: sync)
    }

    fileprivate func write(
        with writer: inout PayloadWriter, to bytes: inout MutableSpan<UInt8>
    ) {
        writer.write(mark.epoch.rawValue, to: &bytes)
        writer.write(mark.digest, to: &bytes)
        switch index {
        case .some(let index): writer.write(index, to: &bytes)
        case .none: break
        }
        writer.write(UInt8(classes.count), to: &bytes)
        for keys in classes {
            writer.write(keys.protectionClass.rawValue, to: &bytes)
            writer.write(keys.keyID, to: &bytes)
            writer.write(keys.attributes, to: &bytes)
            writer.write(keys.value, to: &bytes)
        }
        if index == nil { writer.write(optional: person, to: &bytes) }
        writer.write(optional: sync, to: &bytes)
    }
}

/// Opening and parsing: docs/FORMAT.md §10.4.
extension KeyPayload {
    /// Opens a payload and parses it.
    ///
    /// - Throws: ``LockStateError/Code/newer`` for an unknown version,
    ///   ``LockStateError/Code/changedByOthers`` if it was not sealed under `key`,
    ///   ``LockStateError/Code/malformed`` for every other defect.
    static func open(
        _ bytes: Span<UInt8>, under key: borrowing SharedPayloadKey
    ) throws(LockStateError) -> KeyPayload {
        guard starts(bytes, with: magic), bytes.count > head.count else { throw .changedPayload }
        guard starts(bytes, with: head) else { throw LockStateError(.newer, during: .parse) }
        let head = head
        let body: SecretBytes
        do throws(SealingError) {
            body = try AEAD.open(
                bytes.extracting(droppingFirst: head.count), associatedData: head.span, under: key)
        } catch {
            throw .changedPayload
        }
        return try body.withBytes { (bytes: Span<UInt8>) throws(LockStateError) in
            try KeyPayload(body: bytes)
        }
    }

    private static func starts(_ bytes: Span<UInt8>, with start: [UInt8]) -> Bool {
        guard bytes.count >= start.count else { return false }
        for index in start.indices where bytes[index] != start[index] { return false }
        return true
    }

    /// Parses the plaintext.
    ///
    /// - Throws: ``LockStateError/Code/malformed``.
    convenience init(body bytes: Span<UInt8>) throws(LockStateError) {
        var reader = PayloadReader(end: bytes.count)
        let keychainID = try KeychainID(payload: bytes.extracting(try reader.next(16)))
        guard let scope = KeyScope(rawValue: try reader.integer(of: bytes)) else {
            throw .malformedPayload
        }
        let epochs = try Self.epochs(scope, of: bytes, with: &reader)
        let deadline: UInt64 = try reader.integer(of: bytes)
        let idle: UInt64 = try reader.integer(of: bytes)
        let end: UInt64 = try reader.integer(of: bytes)
        guard reader.isAtEnd,
            let period = UnlockPeriod(deadline: deadline, idle: idle, end: end),
            period == .unlimited || scope == .whileUnlocked
        else { throw .malformedPayload }
        self.init(keychainID: keychainID, scope: scope, epochs: epochs, period: period)
    }

    private static func epochs(
        _ scope: KeyScope, of bytes: Span<UInt8>, with reader: inout PayloadReader
    ) throws(LockStateError) -> [Part] {
        let count: UInt8 = try reader.integer(of: bytes)
        guard (1...2).contains(count) else { throw .malformedPayload }
        var parts: [Part] = []
        var last: UInt64 = 0
        for _ in 0..<count {
            let epoch: UInt64 = try reader.integer(of: bytes)
            guard epoch > last else { throw .malformedPayload }
            last = epoch
            let digest = try Digest(payload: bytes.extracting(try reader.next(32)))
            let mark = EpochMark(epoch: Epoch(epoch), digest: digest)
            parts.append(try part(mark, scope, of: bytes, with: &reader))
        }
        return parts
    }

    private static func part(
        _ mark: EpochMark, _ scope: KeyScope, of bytes: Span<UInt8>,
        with reader: inout PayloadReader
    ) throws(LockStateError) -> Part {
        switch scope {
        case .whileUnlocked:
            let classes = try classes(scope, of: bytes, with: &reader)
            let person: AgreementSecret? = try reader.optionalKey(of: bytes)
            return Part(
                mark: mark, classes: classes, person: person,
                sync: try reader.optionalKey(of: bytes))
        case .afterFirstUnlock:
            let place = try reader.next(IndexKey.byteCount)
            let classes = try classes(scope, of: bytes, with: &reader)
            return Part(
                mark: mark, classes: classes,
                index: try IndexKey(payload: bytes.extracting(place)),
                sync: try reader.optionalKey(of: bytes))
        }
    }

    private static func classes(
        _ scope: KeyScope, of bytes: Span<UInt8>, with reader: inout PayloadReader
    ) throws(LockStateError) -> [ClassKeys] {
        let count = Int(try reader.integer(of: bytes, as: UInt8.self))
        let expected = scope.classes.prefix(count)
        guard expected.count == count, expected.starts(with: scope.requiredClasses) else {
            throw .malformedPayload
        }
        var classes: [ClassKeys] = []
        for protectionClass in expected {
            guard try reader.integer(of: bytes, as: UInt8.self) == protectionClass.rawValue else {
                throw .malformedPayload
            }
            let keyID = try KeyID(payload: bytes.extracting(try reader.next(16)))
            let attributes = try reader.next(AttributesSubkey.byteCount)
            let value = try reader.next(ValueSubkey.byteCount)
            classes.append(
                ClassKeys(
                    protectionClass: protectionClass, keyID: keyID,
                    attributes: try AttributesSubkey(payload: bytes.extracting(attributes)),
                    value: try ValueSubkey(payload: bytes.extracting(value))))
        }
        return classes
    }
}

extension LockStateError {
    fileprivate static var malformedPayload: LockStateError {
        LockStateError(.malformed, during: .parse)
    }

    fileprivate static var changedPayload: LockStateError {
        LockStateError(.changedByOthers, during: .parse)
    }
}
