// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory

/// docs/FORMAT.md §10.4.
extension KeyPayload {
    /// Opens a payload and parses it.
    ///
    /// - Throws: ``LockStateError/Code/newer`` for a version that this one does not know,
    ///   ``LockStateError/Code/changedByOthers`` if it was not sealed under `key`,
    ///   ``LockStateError/Code/malformed`` for anything else that is wrong.
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

    /// Parses what was sealed.
    ///
    /// - Throws: ``LockStateError/Code/malformed``.
    convenience init(body bytes: Span<UInt8>) throws(LockStateError) {
        var reader = PayloadReader(end: bytes.count)
        let keychainID = try KeychainID(payload: bytes.extracting(try reader.next(16)))
        guard let scope = KeyScope(tag: try reader.integer(of: bytes)) else {
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
            return Part(
                mark: mark, classes: classes, person: try person(of: bytes, with: &reader))
        case .afterFirstUnlock:
            let place = try reader.next(IndexKey.byteCount)
            let classes = try classes(scope, of: bytes, with: &reader)
            return Part(
                mark: mark, classes: classes, index: try IndexKey(payload: bytes.extracting(place)))
        }
    }

    private static func person(
        of bytes: Span<UInt8>, with reader: inout PayloadReader
    ) throws(LockStateError) -> AgreementSecret? {
        switch try reader.integer(of: bytes, as: UInt8.self) {
        case 0: return nil
        case 1:
            let place = try reader.next(AgreementSecret.byteCount)
            return try AgreementSecret(payload: bytes.extracting(place))
        default: throw .malformedPayload
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
