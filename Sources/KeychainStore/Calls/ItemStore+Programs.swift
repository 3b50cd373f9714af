// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

/// Which program uses which application identifier: a guard against accidents (spec/secitem.md
/// §5.3).
extension ItemStore {
    /// As ``writing(_:creating:_:)``, and records the caller's program when it writes first.
    func write<R>(
        _ operation: String, creating: Bool = false, _ caller: Caller,
        _ body: (WriteAccess) throws -> R
    ) throws(KeychainFailure) -> R? {
        try writing(operation, creating: creating) { (access) throws(KeychainFailure) in
            try translating(operation) {
                let result = try body(access)
                try access.recordProgram(of: caller)
                return result
            }
        }
    }
}

/// A program that has written to the keychain.
struct ProgramRecord: Hashable, Sendable {
    let applicationIdentifier: String
    let path: String

    /// LP(identifier) LP(path).
    var encoded: [UInt8] {
        var parts = LengthPrefixed()
        parts.append(applicationIdentifier)
        parts.append(path)
        return parts.bytes
    }

    init(applicationIdentifier: String, path: String) {
        self.applicationIdentifier = applicationIdentifier
        self.path = path
    }

    /// Parses ``encoded``.
    init(parsing bytes: ArraySlice<UInt8>) throws(RowFailure) {
        var reader = ByteReader(Array(bytes), malformed: RowFailure.content)
        let (identifier, path) = (try Self.text(from: &reader), try Self.text(from: &reader))
        guard reader.isAtEnd else { throw .content }
        self.init(applicationIdentifier: identifier, path: path)
    }

    private static func text(
        from reader: inout ByteReader<RowFailure>
    ) throws(RowFailure) -> String {
        let bytes = try reader.bytes(Int(try reader.integer(UInt32.self)))
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .content }
        return text
    }
}

extension WriteAccess {
    /// Notes the caller's program unless it is known.
    fileprivate func recordProgram(of caller: Caller) throws {
        guard let path = caller.executablePath else { return }
        let record = ProgramRecord(
            applicationIdentifier: caller.applicationIdentifier, path: path)
        guard !state.hasRecorded(record) else { return }
        let id = state.hasher.program(caller.applicationIdentifier, path: path)
        let run = try writer.program.start()
        try run.bind(id, at: 1)
        if try !run.step() { try writer.insert(record, state, during: operation) }
        state.remember(record)
    }
}

extension StoreWriter {
    /// Puts a program that is not there on record.
    func insert(
        _ record: ProgramRecord, _ state: KeychainState, during operation: String
    ) throws {
        let id = state.hasher.program(record.applicationIdentifier, path: record.path)
        let insertion = try insertProgram.start()
        try insertion.bind(id, at: 1)
        try insertion.bind(try state.seal(record, id, during: operation), at: 2)
        try insertion.finish()
    }
}

extension KeychainState {
    private static let padding = 32

    fileprivate func seal(
        _ record: ProgramRecord, _ id: Digest, during operation: String
    ) throws(KeychainFailure) -> [UInt8] {
        let cipher = try cipher(.afterFirstUnlock, during: operation)
        var plaintext = record.encoded
        Padding.pad(&plaintext, toMultipleOf: Self.padding)
        let data = associatedData(id, cipher.keys.keyID)
        return data.withBytes { data in
            AEAD.seal(plaintext.span, associatedData: data, under: cipher.keys.attributes)
        }
    }

    /// Opens a row of table `program`, which is sealed under the newest epoch unless it is just
    /// being changed.
    func open(
        program sealed: [UInt8], _ id: Digest, in epoch: KeychainEpoch? = nil
    ) throws(RowFailure) -> ProgramRecord {
        guard let keys = (epoch ?? newest).keys.keys(of: .afterFirstUnlock),
            let padded = try? associatedData(id, keys.keyID).withBytes({ data in
                try AEAD.openIntoArray(
                    sealed.span, associatedData: data, under: keys.attributes)
            })
        else { throw .seal }
        guard
            let byteCount = try? Padding.unpaddedByteCount(padded.span, step: Self.padding)
        else { throw .content }
        return try ProgramRecord(parsing: padded[..<byteCount])
    }

    private func associatedData(_ id: Digest, _ keyID: KeyID) -> LengthPrefixed {
        var data = LengthPrefixed(reservingByteCount: 128)
        data.append(DerivationContext.program.rawValue)
        data.append(settings.keychainID)
        data.append(keyID)
        data.append(id)
        return data
    }
}
