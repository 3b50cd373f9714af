// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing

/// The JSON of `valet export`, which `valet import` reads back: an object for each item. Text is a
/// string, a number is a number, and bytes are `{"base64":"…"}`. An entry has its fields in the
/// member "fields". The reader refuses unknown members, because their meaning could be a weaker
/// protection.
enum ExportFormat {
    /// What the member "format" says.
    static let name = "valet-export-1"

    /// The attributes that are exported, with the names of their members.
    private static let attributes: [(attribute: Attribute, member: String)] = [
        (.account, "account"), (.service, "service"), (.generic, "generic"), (.server, "server"),
        (.protocol, "protocol"), (.port, "port"), (.path, "path"),
        (.securityDomain, "securityDomain"), (.authenticationType, "authenticationType"),
        (.label, "label"), (.comment, "comment"), (.itemDescription, "description"),
        (.creator, "creator"), (.type, "type"), (.scriptCode, "scriptCode"),
        (.isInvisible, "isInvisible"), (.isNegative, "isNegative"),
        (.hasCustomIcon, "hasCustomIcon"), (.alias, "alias"), (.protectedData, "protectedData"),
    ]
    private static let classes: [ItemClass: String] = [
        .genericPassword: "generic-password", .internetPassword: "internet-password",
    ]
    /// The attributes that are not exported under a name in `attributes`: properties of the item,
    /// and its dates, which the keychain sets.
    private static let others: Set<Attribute> = [
        .accessGroup, .synchronizable, .accessible, .accessControl, .creationDate,
        .modificationDate, .fieldCount,
    ]

    // MARK: Writing

    /// The object of an item; nil, with a reason, if an attribute cannot be written.
    static func object(
        _ item: StoredItem, _ whole: ItemValue
    ) -> (text: SecretValue?, reason: String) {
        var text = SecretText()
        text.append("{\"class\":\"\(classes[item.itemClass] ?? "")\"")
        for (attribute, content) in item.attributes.sorted(by: { $0.key.tag < $1.key.tag }) {
            guard !others.contains(attribute), content != attribute.defaultValue else { continue }
            guard let member = attributes.first(where: { $0.attribute == attribute })?.member else {
                return (nil, "it has an attribute that cannot be exported")
            }
            text.append(",\"\(member)\":")
            switch content {
            case .text(let content):
                guard !content.utf8.contains(0) else {
                    return (nil, "an attribute has a null byte, which JSON here cannot hold")
                }
                text.appendJSONString(content)
            case .number(let number): text.append("\(number)")
            case .bytes(let bytes):
                text.append("{\"base64\":\"")
                Base64.encoded(bytes.span).withBytes { text.append($0) }
                text.append("\"}")
            case .date, .accessControl:
                return (nil, "it has an attribute that cannot be exported")
            }
        }
        text.append(
            ",\"accessibility\":\"\(item.protectionClass.word)\",\"cloud\":"
                + "\(item.isSynchronizable)")
        append(whole.value, to: &text)
        append(whole.fields, to: &text)
        text.append("}")
        return (text.value(), "")
    }

    private static func append(_ fields: EntryFields, to text: inout SecretText) {
        guard !fields.isEmpty else { return }
        text.append(",\"fields\":[")
        for (place, field) in fields.list.enumerated() {
            text.append("\(place == 0 ? "" : ",")\n {\"name\":")
            text.appendJSONString(field.name)
            text.append(",\"secret\":\(field.isSecret)")
            append(field.value, to: &text)
            text.append("}")
        }
        text.append("]")
    }

    private static func append(_ value: SecretValue, to text: inout SecretText) {
        let isText = value.isUTF8 && value.withBytes { $0.firstIndex(of: 0) == nil }
        value.withBytes { bytes in
            if isText {
                text.append(",\"value\":")
                text.appendJSONString(bytes)
            } else {
                text.append(",\"base64\":\"")
                Base64.encoded(bytes).withBytes { text.append($0) }
                text.append("\"")
            }
        }
    }

    // MARK: Reading

    /// Reads one item of an export.
    ///
    /// - Parameter number: Its place, from 1.
    /// - Throws: ``ExitCode/damaged`` for members and words that no export has.
    static func item(
        _ reader: inout JSONReader, _ number: Int, _ scope: Scope
    ) throws(CLIError) -> ImportedItem {
        guard reader.kind == .object else { throw refusal(number, "is not an object") }
        var members: [String: Member] = [:]
        try reader.object(isUnique: false) { (name, reader) throws(CLIError) in
            let member =
                name == "fields" && reader.kind == .array
                ? Member.fields(try fields(&reader, number)) : try Member(&reader)
            guard members.updateValue(member, forKey: name) == nil else {
                throw refusal(number, "has two members of one name")
            }
        }
        return try item(members, number, scope)
    }

    /// The value of a member of an item.
    private enum Member {
        case text(SecretValue)
        case number(Int64)
        /// An object with the one member "base64".
        case bytes(SecretValue)
        case flag(Bool)
        case fields(EntryFields)
        case other

        init(_ reader: inout JSONReader) throws(CLIError) {
            self = .other
            switch reader.kind {
            case .string: self = .text(try reader.string())
            case .number, .literal:
                let word = try reader.word()
                if let number = Int64(word) {
                    self = .number(number)
                } else if word != "null", let flag = Bool(word) {
                    self = .flag(flag)
                }
            case .object:
                var (bytes, count) = (SecretValue?.none, 0)
                try reader.object { (name, reader) throws(CLIError) in
                    count += 1
                    guard name == "base64", reader.kind == .string else { return }
                    bytes = try reader.string().withBytes { Base64.decoded($0) }
                }
                if let bytes, count == 1 { self = .bytes(bytes) }
            case .array: try reader.skip()
            }
        }

        /// The attribute's value; nil for other JSON values.
        var value: AttributeValue? {
            switch self {
            case .text(let text): text.publicText.map(AttributeValue.text)
            case .number(let number): .number(number)
            case .bytes(let bytes):
                bytes.withBytes { bytes in .bytes(bytes.indices.map { bytes[$0] }) }
            case .flag, .fields, .other: nil
            }
        }

        /// The text of a string; nil for other values.
        var string: SecretValue? {
            if case .text(let text) = self { text } else { nil }
        }
    }

    private static func item(
        _ members: [String: Member], _ number: Int, _ scope: Scope
    ) throws(CLIError) -> ImportedItem {
        var members = members
        let word = members.removeValue(forKey: "class")?.string?.publicText
        guard let itemClass = classes.first(where: { $0.value == word })?.key else {
            throw refusal(number, "has no class, or one that is not known")
        }
        let value = try value(&members, number)
        let fields = try fields(of: &members, number)
        let accessibility = try accessibility(&members, number) ?? scope.accessibility
        let isCloud = try isCloud(&members, number) ?? scope.isCloud
        guard !isCloud || !accessibility.isThisDeviceOnly else {
            throw refusal(number, "is shared between devices, but for this device only")
        }
        var attributes: ItemAttributes = [:]
        for (attribute, name) in Self.attributes where attribute.exists(in: itemClass) {
            attributes[attribute] = attribute.defaultValue
            guard let member = members.removeValue(forKey: name) else { continue }
            guard let value = member.value, isPossible(value, for: attribute) else {
                throw refusal(number, "has a \(name) that is not possible")
            }
            attributes[attribute] = value
        }
        guard members.isEmpty else { throw refusal(number, "has a member that is not known") }
        var item = ImportedItem(itemClass, attributes, value, from: "item \(number)")
        (item.accessibility, item.isCloud, item.fields) = (accessibility, isCloud, fields)
        return item
    }

    private static func value(
        _ members: inout [String: Member], _ number: Int
    ) throws(CLIError) -> SecretValue {
        let text = members.removeValue(forKey: "value")
        let encoded = members.removeValue(forKey: "base64")
        guard (text == nil) != (encoded == nil),
            let value = text == nil
                ? encoded?.string?.withBytes({ Base64.decoded($0) }) : text?.string
        else { throw refusal(number, "has no value, two, or one that is not a string") }
        return value
    }

    private static func fields(
        of members: inout [String: Member], _ number: Int
    ) throws(CLIError) -> EntryFields? {
        switch members.removeValue(forKey: "fields") {
        case nil: return nil
        case .fields(let fields)?: return fields
        default: throw refusal(number, "has a member 'fields' that is not a list")
        }
    }

    private static func fields(
        _ reader: inout JSONReader, _ number: Int
    ) throws(CLIError) -> EntryFields {
        var list: [EntryField] = []
        try reader.array { (reader) throws(CLIError) in
            guard reader.kind == .object, list.count < EntryFields.maximalCount else {
                throw refusal(number, "has too many fields, or one that is not an object")
            }
            var members: [String: Member] = [:]
            try reader.object { (name, reader) throws(CLIError) in
                members[name] = try Member(&reader)
            }
            let name = members.removeValue(forKey: "name")?.string?.publicText
            guard let name, case .flag(let isSecret)? = members.removeValue(forKey: "secret"),
                let field = EntryField(name, isSecret: isSecret, try value(&members, number)),
                members.isEmpty
            else { throw refusal(number, "has a field that no export has") }
            list.append(field)
        }
        guard let fields = EntryFields(list) else {
            throw refusal(number, "has two fields of one name")
        }
        return fields
    }

    private static func isPossible(_ value: AttributeValue, for attribute: Attribute) -> Bool {
        guard case .number(let number) = value else { return attribute != .port }
        return attribute.family == .number && (attribute != .port || 0...65535 ~= number)
    }

    /// Accepts every class, not only those that options offer.
    private static func accessibility(
        _ members: inout [String: Member], _ number: Int
    ) throws(CLIError) -> ProtectionClass? {
        guard let member = members.removeValue(forKey: "accessibility") else { return nil }
        let word = member.string?.publicText
        guard let known = ProtectionClass.allCases.first(where: { $0.word == word }) else {
            throw refusal(number, "has an accessibility that is not known")
        }
        return known
    }

    private static func isCloud(
        _ members: inout [String: Member], _ number: Int
    ) throws(CLIError) -> Bool? {
        switch members.removeValue(forKey: "cloud") {
        case nil: nil
        case .flag(let flag)?: flag
        default: throw refusal(number, "has a member 'cloud' that is not true or false")
        }
    }

    /// Quotes nothing of the export: even a member's name may be a misplaced secret.
    private static func refusal(_ number: Int, _ reason: String) -> CLIError {
        CLIError(.damaged, "item \(number) of the export \(reason): nothing was imported")
    }
}
