// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// One field of an entry beside its password: a user name, an address, a recovery code.
package struct EntryField: Sendable {
    /// From 1 to ``maximalNameByteCount`` bytes, without control characters. It tells the field
    /// from the others of its entry.
    package let name: String
    /// Whether only a person who asks for this field sees its value.
    package let isSecret: Bool
    package let value: SecretValue

    package static let maximalNameByteCount = 255

    /// - Returns: nil for a name that no field can have.
    package init?(_ name: String, isSecret: Bool, _ value: SecretValue) {
        guard Self.isName(name) else { return nil }
        (self.name, self.isSecret, self.value) = (name, isSecret, value)
    }

    /// Whether a field can have this name.
    package static func isName(_ name: String) -> Bool {
        1...maximalNameByteCount ~= name.utf8.count
            && name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    fileprivate func isEqual(to other: EntryField) -> Bool {
        name.hasSameBytes(as: other.name) && isSecret == other.isSecret
            && value.isEqual(to: other.value)
    }
}

/// The fields of an entry beside its password, in the order in which they were added. No two have
/// one name.
package struct EntryFields: Sendable {
    package private(set) var list: [EntryField] = []

    package static let maximalCount = 1_000

    /// No fields.
    package init() {}

    /// - Returns: nil if two have one name, or if they are more than ``maximalCount``.
    package init?(_ list: [EntryField]) {
        let names = Set(list.map { Array($0.name.utf8) })
        guard list.count <= Self.maximalCount, names.count == list.count else { return nil }
        self.list = list
    }

    package var isEmpty: Bool { list.isEmpty }

    /// The field of exactly this name.
    package subscript(name: String) -> EntryField? {
        list.first { $0.name.hasSameBytes(as: name) }
    }

    package func isEqual(to other: EntryFields) -> Bool {
        list.count == other.list.count
            && zip(list, other.list).allSatisfy { $0.isEqual(to: $1) }
    }

    /// The fields after `changes`: a new field comes last.
    ///
    /// - Returns: nil if they are more than ``maximalCount``.
    package func applying(_ changes: [FieldChange]) -> EntryFields? {
        var fields = self
        for change in changes {
            let place = fields.list.firstIndex { $0.name.hasSameBytes(as: change.name) }
            switch (change, place) {
            case (.set(let field), let place?): fields.list[place] = field
            case (.set(let field), nil): fields.list.append(field)
            case (.remove, let place?): fields.list.remove(at: place)
            case (.remove, nil): break
            }
        }
        return fields.list.count <= Self.maximalCount ? fields : nil
    }
}

/// A change of one field of an entry.
package enum FieldChange: Sendable {
    /// Adds the field, or replaces the one of its name.
    case set(EntryField)
    /// Removes the field of this name, if there is one.
    case remove(String)

    fileprivate var name: String {
        switch self {
        case .set(let field): field.name
        case .remove(let name): name
        }
    }
}

/// The value of an item and its fields, which a row seals as one: docs/FORMAT.md §5.7, decision 77.
package struct ItemValue: Sendable {
    /// The password of an entry, which is all that most callers read.
    package let value: SecretValue
    package let fields: EntryFields

    package init(_ value: SecretValue, _ fields: EntryFields = EntryFields()) {
        (self.value, self.fields) = (value, fields)
    }

    package func isEqual(to other: ItemValue) -> Bool {
        value.isEqual(to: other.value) && fields.isEqual(to: other.fields)
    }

    // MARK: The sealed form

    /// The number of bytes of ``sealedForm``.
    package var sealedByteCount: Int {
        fields.isEmpty ? value.byteCount : 4 + fieldsByteCount + value.byteCount
    }

    private var fieldsByteCount: Int { fields.list.reduce(2) { $0 + $1.encodedByteCount } }

    /// The bytes that a row seals: the value alone, if there are no fields.
    package var sealedForm: SecretValue {
        guard !fields.isEmpty else { return value }
        let fieldsByteCount = fieldsByteCount
        var writer = SecretWriter(byteCount: sealedByteCount)
        writer.append(UInt32(fieldsByteCount))
        writer.append(UInt16(fields.list.count))
        for field in fields.list {
            writer.append(UInt8(field.isSecret ? 1 : 0))
            writer.append(UInt8(field.name.utf8.count))
            writer.append(Array(field.name.utf8))
            writer.append(UInt32(field.value.byteCount))
            writer.append(field.value)
        }
        writer.append(value)
        return SecretValue(writer.finish())
    }

    /// Parses a ``sealedForm`` that has `fieldCount` fields, of which there is at least one.
    ///
    /// - Returns: nil for any other bytes.
    package init?(sealedForm bytes: SecretValue, fieldCount: Int) {
        guard let value = Self.value(inFormWithFields: bytes) else { return nil }
        let end = bytes.byteCount - value.byteCount
        var list: [EntryField] = []
        let isWhole = bytes.withBytes { bytes in
            var place = FieldPlace(4..<end)
            guard let count = place.number(2, in: bytes), count == fieldCount, count > 0 else {
                return false
            }
            for _ in 0..<count {
                guard let field = place.field(in: bytes) else { return false }
                list.append(field)
            }
            return place.isAtEnd
        }
        guard isWhole, let fields = EntryFields(list) else { return nil }
        self.init(value, fields)
    }

    /// The value in a ``sealedForm`` that has fields; nil for bytes that are no such form. The
    /// fields are not read.
    package static func value(inFormWithFields bytes: SecretValue) -> SecretValue? {
        bytes.withBytes { bytes in
            var place = FieldPlace(0..<bytes.count)
            guard let byteCount = place.number(4, in: bytes), byteCount <= bytes.count - 4 else {
                return nil
            }
            return SecretValue(copying: bytes.extracting((4 + byteCount)..<bytes.count))
        }
    }
}

extension EntryField {
    fileprivate var encodedByteCount: Int { 2 + name.utf8.count + 4 + value.byteCount }
}

/// A place in bytes of any form, from which fields are read.
private struct FieldPlace {
    private var position = 0
    private let end: Int

    init(_ range: Range<Int>) { (position, end) = (range.lowerBound, range.upperBound) }

    var isAtEnd: Bool { position == end }

    /// The next number of `byteCount` bytes, most significant first; nil if there are fewer.
    mutating func number(_ byteCount: Int, in bytes: Span<UInt8>) -> Int? {
        next(byteCount)?.reduce(0) { $0 << 8 | Int(bytes[$1]) }
    }

    /// The next field; nil for bytes of another form.
    mutating func field(in bytes: Span<UInt8>) -> EntryField? {
        guard let kind = number(1, in: bytes), kind <= 1, let nameByteCount = number(1, in: bytes),
            let nameRange = next(nameByteCount),
            let name = String(utf8: nameRange.map { bytes[$0] }),
            let valueByteCount = number(4, in: bytes), let range = next(valueByteCount)
        else { return nil }
        return EntryField(name, isSecret: kind == 1, SecretValue(copying: bytes.extracting(range)))
    }

    private mutating func next(_ byteCount: Int) -> Range<Int>? {
        guard byteCount <= end - position else { return nil }
        defer { position += byteCount }
        return position..<(position + byteCount)
    }
}
