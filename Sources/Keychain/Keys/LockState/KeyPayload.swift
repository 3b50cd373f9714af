// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The keys of one scope, of one or two epochs, as the kernel stores them: docs/FORMAT.md §10.4.
/// ``SharedLockState`` publishes and reads payloads; ``ProcessLockState`` keeps them unsealed.
final class KeyPayload: Sendable {
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

    init(keychainID: KeychainID, scope: KeyScope, epochs: [Part], period: UnlockPeriod) {
        self.keychainID = keychainID
        self.scope = scope
        self.epochs = epochs
        self.period = period
    }

    /// Makes the payload of `scope` from opened keys.
    ///
    /// - Parameter period: Ignored for the scope `afterFirstUnlock`, which has no end.
    /// - Throws: ``KeychainFailure``: `wrongKeys` unless there are one or two epochs of this
    ///   keychain, in rising order, with a key of each required class.
    convenience init(
        _ scope: KeyScope, of keychainID: KeychainID, from epochs: [EpochKeys],
        period: UnlockPeriod
    ) throws(KeychainFailure) {
        guard (1...2).contains(epochs.count),
            epochs.count == 1 || epochs[0].keybag.epoch < epochs[1].keybag.epoch
        else { throw KeychainFailure(.wrongKeys, during: .encode) }
        var parts: [Part] = []
        for keys in epochs {
            guard keys.keybag.keychainID == keychainID, keys.keybag.epoch.rawValue > 0 else {
                throw KeychainFailure(.wrongKeys, during: .encode)
            }
            parts.append(try Part(scope, of: keys))
        }
        self.init(
            keychainID: keychainID, scope: scope, epochs: parts,
            period: scope == .whileUnlocked ? period : .unlimited)
    }

    /// The same keys for another period.
    func lasting(_ period: UnlockPeriod) -> KeyPayload {
        KeyPayload(keychainID: keychainID, scope: scope, epochs: epochs, period: period)
    }

    /// Whether the keys are those of `other`, for any period.
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
    convenience init(_ scope: KeyScope, of keys: EpochKeys) throws(KeychainFailure) {
        let classes = keys.keybag.keys(in: scope)
        guard classes.map(\.protectionClass).starts(with: scope.requiredClasses) else {
            throw KeychainFailure(.wrongKeys, during: .encode)
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

/// Names and contents of the payload of each scope: docs/FORMAT.md §10.4.
extension KeyScope {
    /// The classes whose keys a payload of this scope can have, in the order of their numbers.
    var classes: [ProtectionClass] { ProtectionClass.allCases.filter { $0.scope == self } }

    /// The classes whose keys a payload must have: the first ones. Recovery opens no key of the
    /// class that needs a passcode.
    var requiredClasses: [ProtectionClass] {
        classes.filter { $0 != .whenPasscodeSetThisDeviceOnly }
    }

    /// The name prefixes of the payloads of a keychain, or of all keychains if `keychainID` is nil.
    /// The second prefix belongs to an earlier form, whose payloads are only removed.
    static func namePrefixes(of keychainID: KeychainID?) -> [String] {
        ["valet:2:", "valet:1:"].map { prefix in keychainID.map { "\(prefix)\($0):" } ?? prefix }
    }

    /// A new name for a payload in the kernel. It proves nothing. It is random, so that no payload
    /// replaces another.
    func randomName(of keychainID: KeychainID) -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        let padding = String(repeating: "0", count: 16 - digits.count)
        return "valet:2:\(keychainID):\(Character(Unicode.Scalar(rawValue))):\(padding)\(digits)"
    }

    /// Whether a payload of this scope has this name.
    func isNamed(by name: String) -> Bool {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count >= 4 && parts[3] == String(Character(Unicode.Scalar(rawValue)))
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
        var writer = SecretWriter(byteCount: byteCount, for: .keys)
        writer.append(keychainID)
        writer.append(scope.rawValue)
        writer.append(UInt8(epochs.count))
        for part in epochs { part.write(to: &writer) }
        for number in period.numbers { writer.append(number) }
        return writer.finish()
    }

    private var byteCount: Int {
        16 + 1 + 1 + epochs.reduce(0) { $0 + $1.byteCount } + 3 * 8
    }
}

extension KeyPayload.Part {
    fileprivate var byteCount: Int {
        let indexByteCount = index == nil ? 0 : IndexKey.byteCount
        let personByteCount = index == nil ? SecretWriter.byteCount(of: person) : 0
        return 8 + 32 + indexByteCount + 1 + classes.count * (1 + 16 + 32 + 32)
            + personByteCount + SecretWriter.byteCount(of: sync)
    }

    fileprivate func write(to writer: inout SecretWriter) {
        writer.append(mark.epoch.rawValue)
        writer.append(mark.digest)
        switch index {
        case .some(let index): writer.append(index)
        case .none: break
        }
        writer.append(UInt8(classes.count))
        for keys in classes {
            writer.append(keys.protectionClass.rawValue)
            writer.append(keys.keyID)
            writer.append(keys.attributes)
            writer.append(keys.value)
        }
        if index == nil { writer.append(optional: person) }
        writer.append(optional: sync)
    }
}

/// Opening and parsing: docs/FORMAT.md §10.4.
extension KeyPayload {
    /// Opens a payload and parses it.
    ///
    /// - Throws: ``KeychainFailure``: `payloadNewer` for an unknown version,
    ///   ``KeychainFailure``: `changedByOthers` if it was not sealed under `key`,
    ///   ``KeychainFailure``: `payloadDamaged` for every other defect.
    static func open(
        _ bytes: Span<UInt8>, under key: borrowing SharedPayloadKey
    ) throws(KeychainFailure) -> KeyPayload {
        guard bytes.starts(with: magic), bytes.count > head.count else { throw .changedPayload }
        guard bytes.starts(with: head) else {
            throw KeychainFailure(.payloadNewer, during: .parse)
        }
        let head = head
        let body: SecretBytes
        do {
            body = try AEAD.open(
                bytes.extracting(droppingFirst: head.count), associatedData: head.span, under: key)
        } catch {
            throw .changedPayload
        }
        return try KeyPayload(body: body)
    }

    private typealias Reader = SecretReader<KeychainFailure>

    /// Parses the plaintext.
    ///
    /// - Throws: ``KeychainFailure``: `payloadDamaged`.
    convenience init(body: consuming SecretBytes) throws(KeychainFailure) {
        var reader = Reader(body, malformed: .malformedPayload)
        let keychainID = try reader.fixedBytes(as: KeychainID.self)
        guard let scope = KeyScope(rawValue: try reader.integer()) else { throw reader.malformed }
        let epochs = try Self.epochs(scope, from: &reader)
        let period = UnlockPeriod(
            deadline: try reader.integer(), idle: try reader.integer(), end: try reader.integer())
        try reader.finish()
        guard let period, period == .unlimited || scope == .whileUnlocked else {
            throw reader.malformed
        }
        self.init(keychainID: keychainID, scope: scope, epochs: epochs, period: period)
    }

    private static func epochs(
        _ scope: KeyScope, from reader: inout Reader
    ) throws(KeychainFailure) -> [Part] {
        let count = try reader.integer(UInt8.self)
        guard (1...2).contains(count) else { throw reader.malformed }
        var parts: [Part] = []
        var last: UInt64 = 0
        for _ in 0..<count {
            let epoch = try reader.integer(UInt64.self)
            guard epoch > last else { throw reader.malformed }
            last = epoch
            let mark = EpochMark(epoch: Epoch(epoch), digest: try reader.fixedBytes())
            parts.append(try part(mark, scope, from: &reader))
        }
        return parts
    }

    private static func part(
        _ mark: EpochMark, _ scope: KeyScope, from reader: inout Reader
    ) throws(KeychainFailure) -> Part {
        switch scope {
        case .whileUnlocked:
            let classes = try classes(scope, from: &reader)
            let person = try reader.optionalKey(as: AgreementSecret.self)
            return Part(
                mark: mark, classes: classes, person: person, sync: try reader.optionalKey())
        case .afterFirstUnlock:
            let index = try reader.key(as: IndexKey.self)
            let classes = try classes(scope, from: &reader)
            return Part(
                mark: mark, classes: classes, index: index, sync: try reader.optionalKey())
        }
    }

    private static func classes(
        _ scope: KeyScope, from reader: inout Reader
    ) throws(KeychainFailure) -> [ClassKeys] {
        let count = Int(try reader.integer(UInt8.self))
        let expected = scope.classes.prefix(count)
        guard expected.count == count, expected.starts(with: scope.requiredClasses) else {
            throw reader.malformed
        }
        var classes: [ClassKeys] = []
        for protectionClass in expected {
            guard try reader.integer(UInt8.self) == protectionClass.rawValue else {
                throw reader.malformed
            }
            classes.append(
                ClassKeys(
                    protectionClass: protectionClass, keyID: try reader.fixedBytes(),
                    attributes: try reader.key(), value: try reader.key()))
        }
        return classes
    }
}

extension KeychainFailure {
    fileprivate static var malformedPayload: KeychainFailure {
        KeychainFailure(.payloadDamaged, during: .parse)
    }

    fileprivate static var changedPayload: KeychainFailure {
        KeychainFailure(.changedByOthers, during: .parse)
    }
}
