// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory

/// docs/FORMAT.md §10.4.
extension KeyPayload {
    static let magic = Array("VALETKEY".utf8)
    static let version: UInt16 = 2

    /// Magic and version, to which the rest is bound.
    static let head: [UInt8] = {
        var head = magic
        head.append(bigEndian: version)
        return head
    }()

    /// The bytes that ``open(_:under:)`` takes. Each call makes others.
    func sealed(under key: borrowing SharedPayloadKey) -> [UInt8] {
        let head = Self.head
        return body().withBytes { body in
            head + AEAD.seal(body, associatedData: head.span, under: key)
        }
    }

    /// What is sealed; the bytes that ``init(body:)`` takes.
    func body() -> SecretBytes {
        SecretBytes(byteCount: byteCount, for: .keys) { (bytes: inout MutableSpan<UInt8>) in
            var writer = PayloadWriter()
            writer.write(keychainID, to: &bytes)
            writer.write(scope.tag, to: &bytes)
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
        return 8 + 32 + indexByteCount + 1 + classes.count * (1 + 16 + 32 + 32)
            + personByteCount
    }

    /// The flag, and the secret if there is one; nothing beside the index key.
    private var personByteCount: Int {
        guard index == nil else { return 0 }
        return person == nil ? 1 : 1 + AgreementSecret.byteCount
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
        guard index == nil else { return }
        switch person {
        case .some(let person):
            writer.write(UInt8(1), to: &bytes)
            writer.write(person, to: &bytes)
        case .none: writer.write(UInt8(0), to: &bytes)
        }
    }
}
