// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The keys of one scope, as the kernel stores them: docs/FORMAT.md §10.4. ``SharedKeys`` seals,
/// publishes and reads payloads.
struct KeyPayload: Sendable {
    static let maximumByteCount = 1024

    let keychainID: KeychainID
    let scope: KeyScope
    /// Names the epoch of the keys.
    let mark: EpochMark
    let keys: ScopeKeys
    /// How long the keys may be used; unlimited for the scope `afterFirstUnlock`.
    var period: UnlockPeriod

    /// Whether the keys are those of `other`, for any period.
    func holdsSameKeys(as other: KeyPayload) -> Bool {
        keychainID == other.keychainID && scope == other.scope && mark == other.mark
            && keys.areSame(as: other.keys)
    }

    /// The same keys for another period.
    func lasting(_ period: UnlockPeriod) -> KeyPayload {
        var other = self
        other.period = period
        return other
    }
}

extension KeyPayload {
    /// Makes the payload of `scope` from opened keys.
    ///
    /// - Parameter period: Ignored for the scope `afterFirstUnlock`, which has no end.
    /// - Throws: ``KeychainFailure``: `wrongKeys` unless they belong to this keychain, and there is
    ///   one of each required class.
    init(
        _ scope: KeyScope, of keychainID: KeychainID, from opened: OpenedKeys,
        period: UnlockPeriod
    ) throws(KeychainFailure) {
        let keybag = opened.keybag
        guard keybag.keychainID == keychainID, keybag.epoch.rawValue > 0 else {
            throw KeychainFailure(.wrongKeys, during: .encode)
        }
        self.init(
            keychainID: keychainID, scope: scope, mark: opened.mark,
            keys: try ScopeKeys(scope, of: keybag),
            period: scope == .whileUnlocked ? period : .unlimited)
    }
}

/// The opened keys of one scope; wiped with the last owner.
final class ScopeKeys: Sendable {
    /// In the order of their numbers.
    let classes: [ClassKeys]
    /// Only in the scope `afterFirstUnlock`.
    let index: IndexKey?
    /// The secret half of the presence pair `person`; only in the scope `whileUnlocked`.
    let person: AgreementSecret?
    /// The sync secret of the scope.
    let sync: SyncSecret?

    init(
        classes: [ClassKeys], index: consuming IndexKey? = nil,
        person: consuming AgreementSecret? = nil, sync: consuming SyncSecret?
    ) {
        self.classes = classes
        self.index = index
        self.person = person
        self.sync = sync
    }

    fileprivate convenience init(
        _ scope: KeyScope, of keybag: UnlockedKeybag
    ) throws(KeychainFailure) {
        let classes = keybag.keys(in: scope)
        guard classes.map(\.protectionClass).starts(with: scope.requiredClasses) else {
            throw KeychainFailure(.wrongKeys, during: .encode)
        }
        let sync = keybag.syncSecret(scope)
        switch scope {
        case .whileUnlocked:
            self.init(
                classes: classes, person: AgreementSecret.copy(of: keybag.person), sync: sync)
        case .afterFirstUnlock:
            self.init(classes: classes, index: keybag.index.copied(), sync: sync)
        }
    }

    fileprivate func areSame(as other: ScopeKeys) -> Bool {
        Self.areSame(index, other.index) && Self.areSame(person, other.person)
            && Self.areSame(sync, other.sync)
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

    private static let namePrefix = "valet:2:"

    /// The beginning of the names of the payloads of a keychain, or of all keychains if
    /// `keychainID` is nil.
    static func namePrefix(of keychainID: KeychainID?) -> String {
        keychainID.map { "\(namePrefix)\($0):" } ?? namePrefix
    }

    /// A new name for a payload in the kernel. It proves nothing. It is random, so that no payload
    /// replaces another.
    func randomName(of keychainID: KeychainID) -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        let padding = String(repeating: "0", count: 16 - digits.count)
        let letter = Character(Unicode.Scalar(rawValue))
        return "\(Self.namePrefix(of: keychainID))\(letter):\(padding)\(digits)"
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
        writer.append(mark.epoch.rawValue)
        writer.append(mark.digest)
        keys.write(to: &writer)
        for number in period.numbers { writer.append(number) }
        return writer.finish()
    }

    private var byteCount: Int { 16 + 1 + 8 + 32 + keys.byteCount + 3 * 8 }
}

extension ScopeKeys {
    fileprivate var byteCount: Int {
        let indexByteCount = index == nil ? 0 : IndexKey.byteCount
        let personByteCount = index == nil ? SecretWriter.byteCount(of: person) : 0
        return indexByteCount + 1 + classes.count * (1 + 16 + 32 + 32) + personByteCount
            + SecretWriter.byteCount(of: sync)
    }

    fileprivate func write(to writer: inout SecretWriter) {
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
    init(body: consuming SecretBytes) throws(KeychainFailure) {
        var reader = Reader(body, malformed: .malformedPayload)
        let keychainID = try reader.fixedBytes(as: KeychainID.self)
        guard let scope = KeyScope(rawValue: try reader.integer()) else { throw reader.malformed }
        let epoch = try reader.integer(UInt64.self)
        guard epoch > 0 else { throw reader.malformed }
        let mark = EpochMark(epoch: Epoch(epoch), digest: try reader.fixedBytes())
        let keys = try Self.keys(scope, from: &reader)
        let period = UnlockPeriod(
            deadline: try reader.integer(), idle: try reader.integer(), end: try reader.integer())
        try reader.finish()
        guard let period, period == .unlimited || scope == .whileUnlocked else {
            throw reader.malformed
        }
        self.init(keychainID: keychainID, scope: scope, mark: mark, keys: keys, period: period)
    }

    private static func keys(
        _ scope: KeyScope, from reader: inout Reader
    ) throws(KeychainFailure) -> ScopeKeys {
        switch scope {
        case .whileUnlocked:
            let classes = try classes(scope, from: &reader)
            let person = try reader.optionalKey(as: AgreementSecret.self)
            return ScopeKeys(classes: classes, person: person, sync: try reader.optionalKey())
        case .afterFirstUnlock:
            let index = try reader.key(as: IndexKey.self)
            let classes = try classes(scope, from: &reader)
            return ScopeKeys(classes: classes, index: index, sync: try reader.optionalKey())
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
