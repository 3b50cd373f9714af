// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
package import ValetSystem

/// A program that has written to the keychain under an application identifier. `doctor` shows which
/// programs share one, which may be an accident (spec/secitem.md §5.3).
package struct ProgramRecord: Hashable, Sendable {
    /// The application identifier under which the program writes.
    package let applicationIdentifier: String
    /// The path of the program's file.
    package let path: String

    /// LP(identifier) LP(path).
    var encoded: [UInt8] {
        var parts = LengthPrefixed()
        parts.append(applicationIdentifier)
        parts.append(path)
        return parts.bytes
    }

    /// The program at `path`, under that name.
    package init(applicationIdentifier: String, path: String) {
        self.applicationIdentifier = applicationIdentifier
        self.path = path
    }

    /// Parses ``encoded``.
    package init(parsing bytes: ArraySlice<UInt8>) throws(SystemError) {
        var reader = ByteReader(Array(bytes), malformed: SystemError.row(.damagedContent))
        let (identifier, path) = (try Self.text(from: &reader), try Self.text(from: &reader))
        guard reader.isAtEnd else { throw .row(.damagedContent) }
        self.init(applicationIdentifier: identifier, path: path)
    }

    private static func text(
        from reader: inout ByteReader<SystemError>
    ) throws(SystemError) -> String {
        let bytes = try reader.bytes(Int(try reader.integer(UInt32.self)))
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .row(.damagedContent)
        }
        return text
    }
}

extension RowTransaction {
    /// Inserts the row of a program, unless it exists. After the commit, the caller has
    /// ``RowKeys/remember(_:)`` spare later writes this search.
    package func record(_ record: ProgramRecord) throws(KeychainFailure) {
        guard !state.hasRecorded(record) else { return }
        let id = state.hasher.program(record.applicationIdentifier, path: record.path)
        try translating(operation) { () throws(SystemError) in
            let run = try writer.program.start()
            try run.bind(id, at: 1)
            if try !run.step() { try writer.insert(record, state) }
        }
    }
}

extension RowWriter {
    /// Inserts the row of a program that has none.
    package func insert(_ record: ProgramRecord, _ state: RowKeys) throws(SystemError) {
        let id = state.hasher.program(record.applicationIdentifier, path: record.path)
        let insertion = try insertProgram.start()
        try insertion.bind(id, at: 1)
        try insertion.bind(try state.seal(record, id), at: 2)
        try insertion.finish()
    }
}

extension RowKeys {
    private static let padding = 32

    fileprivate func seal(_ record: ProgramRecord, _ id: Digest) throws(SystemError) -> [UInt8] {
        let cipher = try cipher(.afterFirstUnlock)
        var plaintext = record.encoded
        Padding.pad(&plaintext, toMultipleOf: Self.padding)
        let data = associatedData(id, cipher.keys.keyID)
        return data.withBytes { data in
            AEAD.seal(plaintext.span, associatedData: data, under: cipher.keys.attributes)
        }
    }

    /// Opens a row of table `program`.
    package func open(program sealed: [UInt8], _ id: Digest) throws(SystemError) -> ProgramRecord {
        guard let keys = epoch.keys.keys(of: .afterFirstUnlock),
            let padded = try? associatedData(id, keys.keyID).withBytes({ data in
                try AEAD.openIntoArray(
                    sealed.span, associatedData: data, under: keys.attributes)
            })
        else { throw .row(.damagedSeal) }
        guard
            let byteCount = try? Padding.unpaddedByteCount(padded.span, step: Self.padding)
        else { throw .row(.damagedContent) }
        return try ProgramRecord(parsing: padded[..<byteCount])
    }

    private func associatedData(_ id: Digest, _ keyID: KeyID) -> LengthPrefixed {
        var data = LengthPrefixed(reservingByteCount: 128)
        data.append(DerivationContext.program.rawValue)
        data.append(keychainID)
        data.append(keyID)
        data.append(id)
        return data
    }
}
