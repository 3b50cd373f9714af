// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetSealing

/// The fields of an entry while it is read. Names that a source uses twice get a number.
struct ImportedFields {
    private var list: [EntryField] = []
    /// How often each name was given.
    private var counts: [String: Int]
    /// How many fields were left out, because an entry cannot have more.
    private(set) var leftCount = 0

    /// `--field password` is the value itself.
    init() { counts = ["password": 1] }

    /// Keeps a name for an attribute of the item, which no field hides.
    mutating func reserve(_ name: String) { counts[name, default: 1] += 0 }

    /// The fields; nil for none, so that an item keeps those that it has.
    var all: EntryFields? { list.isEmpty ? nil : EntryFields(list) }

    /// Adds a field of the source, under the name that `valet get --field` finds.
    ///
    /// - Parameter isSecret: nil if the name alone decides.
    mutating func add(_ name: String, _ value: SecretValue, isSecret: Bool? = nil) {
        guard list.count < EntryFields.maximalCount else { return leftCount += 1 }
        let known = Self.name(name)
        let text = free(known?.text ?? Self.unnamed)
        let field = EntryField(text, isSecret: isSecret ?? (known?.isPublic != true), value)
        if let field { list.append(field) } else { leftCount += 1 }
    }

    mutating func add(_ name: FieldName, _ text: String, isSecret: Bool? = nil) {
        add(name.text, SecretValue(copying: Array(text.utf8).span), isSecret: isSecret)
    }

    private static let unnamed = "field"
    /// Leaves room for a number.
    private static let maximumByteCount = EntryField.maximalNameByteCount - 15

    /// The name without what no name can have; nil if nothing is left.
    private static func name(_ text: String) -> FieldName? {
        var name = ""
        for scalar in text.unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control
            let piece = isControl ? " " : String(scalar)
            guard name.utf8.count + piece.utf8.count <= maximumByteCount else { break }
            name += piece
        }
        let words = name.split(separator: " ", omittingEmptySubsequences: false)
        let start = words.drop(while: \.isEmpty)
        let isBlank = start.isEmpty
        guard !isBlank else { return nil }
        var end = start
        while end.last?.isEmpty == true { end.removeLast() }
        return try? FieldName(end.joined(separator: " "))
    }

    /// The name, with a number if another field has it.
    private mutating func free(_ name: String) -> String {
        var candidate = name
        while counts[candidate] != nil {
            counts[name, default: 1] += 1
            candidate = "\(name) (\(counts[name, default: 1]))"
        }
        counts[candidate] = 1
        return candidate
    }
}

extension SecretValue {
    /// The value as an address `otpauth:`: some programs export the seed alone.
    var asOneTimeAddress: SecretValue {
        let isSeed = withBytes { bytes in
            bytes.indices.allSatisfy { index in
                switch bytes[index] {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "2")...UInt8(ascii: "7"), UInt8(ascii: "="), UInt8(ascii: " "):
                    true
                default: false
                }
            }
        }
        guard isSeed else { return self }
        var text = SecretText()
        text.append("otpauth://totp/?secret=")
        withBytes { bytes in
            for index in bytes.indices
            where bytes[index] != UInt8(ascii: " ") && bytes[index] != UInt8(ascii: "=") {
                text.append(bytes[index])
            }
        }
        return text.value()
    }
}
