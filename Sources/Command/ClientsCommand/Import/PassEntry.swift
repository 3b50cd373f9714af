// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetSealing

/// An entry of pass or gopass: the first line is the password, lines `key: value` and an address
/// `otpauth:` are fields, and all other lines are the note.
///
/// An entry that is not made of such lines is a value as a whole: bytes, a private key, JSON.
struct PassEntry {
    let value: SecretValue
    private(set) var fields: EntryFields?

    /// - Parameter isWhole: Whether the entry is one value, whatever its lines are.
    init(_ text: SecretValue, isWhole: Bool = false) {
        let lines = isWhole || Self.isDocument(text) ? [] : Self.lines(of: text)
        guard let entry = Lines(lines) else {
            value = text.withoutOnlyNewline
            return
        }
        value = entry.password ?? SecretValue(SecretBytes(byteCount: 0))
        fields = entry.fields.all
    }

    /// More lines than a person writes into an entry.
    private static let maximumLineCount = 10_000

    /// Whether the bytes are no lines of an entry.
    private static func isDocument(_ text: SecretValue) -> Bool {
        text.withBytes { bytes in
            bytes.indices.count { bytes[$0] == UInt8(ascii: "\n") } > maximumLineCount
                || bytes.firstIndex(of: 0) != nil || bytes.startsWith("-----BEGIN ")
                || bytes.startsWith("{") || bytes.startsWith("[")
        } || !text.isUTF8
    }

    /// The lines without their ends.
    private static func lines(of text: SecretValue) -> [SecretValue] {
        text.withBytes { bytes in
            bytes.lines.map { range in
                let hasReturn = !range.isEmpty && bytes[range.upperBound - 1] == 0x0D
                let end = range.upperBound - (hasReturn ? 1 : 0)
                return SecretValue(copying: bytes.extracting(range.lowerBound..<end))
            }
        }
    }
}

/// The lines of an entry, and what each of them is.
private struct Lines {
    var password: SecretValue?
    var fields = ImportedFields()
    private var note: [SecretValue] = []

    private static let longestKey = 64
    /// The first line of an older form of gopass, in which the password is a header.
    private static let headerForm = "GOPASS-SECRET-1.0"

    /// - Returns: nil for no lines, and for more than an entry has fields.
    init?(_ lines: [SecretValue]) {
        guard let first = lines.first else { return nil }
        let isOfHeaders = first.withBytes { $0.equals(Self.headerForm) }
        if !isOfHeaders {
            // pass-otp makes entries of an address alone.
            if Self.isAddress(first) { add(first) } else { password = first }
        }
        for line in lines.dropFirst() { add(line, takesPassword: isOfHeaders) }
        while note.last?.byteCount == 0 { note.removeLast() }
        let text = SecretValue.joined(lines: note.drop { $0.byteCount == 0 })
        if text.byteCount > 0 { fields.add(FieldName.note.text, text) }
        guard fields.leftCount == 0 else { return nil }
    }

    private mutating func add(_ line: SecretValue, takesPassword: Bool = false) {
        if Self.isAddress(line) { return fields.add(FieldName.otp.text, line) }
        if let (name, value) = Self.pair(line) {
            if takesPassword, password == nil, name.text == "password" {
                password = value
            } else {
                fields.add(name.text, name == .otp ? value.asOneTimeAddress : value)
            }
        } else if line.withBytes({ !$0.equals("---") }) {
            note.append(line)
        }
    }

    private static func isAddress(_ line: SecretValue) -> Bool {
        line.withBytes { $0.startsWith("otpauth://") }
    }

    /// The key and the value of a line `key: value`; nil for other lines, such as addresses, items
    /// of lists, and lines that begin with a blank.
    private static func pair(_ line: SecretValue) -> (FieldName, SecretValue)? {
        line.withBytes { bytes in
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), 1...longestKey ~= colon,
                !bytes[0].isBlank, bytes[0] != UInt8(ascii: "#"), bytes[0] != UInt8(ascii: "-")
            else { return nil }
            let key = bytes.extracting(0..<colon)
            let rest = bytes.extracting((colon + 1)..<bytes.count)
            let value = rest.extracting(rest.trimmedRange)
            guard let text = key.extracting(key.trimmedRange).text, let name = try? FieldName(text),
                !value.isEmpty, rest[0].isBlank || isStandard(name) && !value.startsWith("//"),
                !["|", ">", "|-", ">-"].contains(where: { value.equals($0) })
            else { return nil }
            return (name, SecretValue(copying: value))
        }
    }

    private static func isStandard(_ name: FieldName) -> Bool {
        [.username, .url, .note, .otp].contains(name)
    }
}

extension SecretValue {
    /// The value without its line end if it is one line of text, otherwise the value itself.
    fileprivate var withoutOnlyNewline: SecretValue {
        withBytes { bytes in
            guard bytes.firstIndex(of: UInt8(ascii: "\n")) == bytes.count - 1 else { return self }
            let isCRLF = bytes.count > 1 && bytes[bytes.count - 2] == UInt8(ascii: "\r")
            return SecretValue(copying: bytes.extracting(0..<(bytes.count - (isCRLF ? 2 : 1))))
        }
    }

    /// Lines with a newline between them.
    static func joined(lines: ArraySlice<SecretValue>) -> SecretValue {
        var text = SecretText()
        for (place, line) in lines.enumerated() {
            if place > 0 { text.append("\n") }
            line.withBytes { text.append($0) }
        }
        return text.value()
    }
}
