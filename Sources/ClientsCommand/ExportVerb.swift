// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory

/// `valet export`: writes secrets in the clear to standard output, after asking.
struct ExportVerb {
    private let values: ParsedValues
    private let console: any Console
    private let scope: Scope
    private let logins: Logins

    init(_ values: ParsedValues, _ context: Context) throws(CLIError) {
        self.values = values
        console = context.console
        scope = try ItemOptions.scope(values)
        logins = try Logins(values, context)
    }

    /// Exports.
    func run() throws(CLIError) -> ExitCode {
        let writesVariables = values[ExportHelp.format] == "dotenv"
        guard writesVariables || values[ExportHelp.format] == "json" else {
            throw .usage("expected '--format json' or '--format dotenv'")
        }
        try requireConsent()
        var left: [(name: String, reason: String)] = []
        let items = try items(ofOneValet: writesVariables || isOneValetChosen)
        try writesVariables ? writeVariables(items, &left) : writeJSON(items, &left)
        for (name, reason) in left {
            console.note("valet: warning: \(quoted(name)) was left out: \(reason)")
        }
        console.note("valet: exported \(items.count - left.count) of \(items.count) items")
        return left.isEmpty ? .success : .failure
    }

    private func requireConsent() throws(CLIError) {
        guard !values.has(KeyOptions.yes) else { return }
        if let obstacle = console.obstacleToAsking {
            throw .usage(
                "an export shows all secrets and needs your consent, but \(obstacle)",
                hint: "'--yes' gives consent in advance")
        }
        guard try console.confirm("Write all secrets in the clear?") else {
            throw CLIError(.denied, "nothing was exported")
        }
    }

    private var isOneValetChosen: Bool {
        values.isGiven(ItemOptions.identifier) || values.isGiven(ItemOptions.accessibility)
            || values.has(ItemOptions.cloud)
    }

    private func items(ofOneValet isOne: Bool) throws(CLIError) -> [StoredItem] {
        let service = scope.service.query
        var items: [StoredItem] = []
        for itemClass in isOne ? [.genericPassword] : ItemClass.allCases {
            items += try logins.items(itemClass, isOne ? service.attributes : [:]).filter {
                !isOne || $0.isSynchronizable == scope.isCloud
            }
        }
        return items.filter { !ServiceName.isCanary($0.text(.account)) }
            .sorted { ($0.text(.account) ?? "") < ($1.text(.account) ?? "") }
    }

    /// The value of an item; nil, with a reason, if it cannot be exported.
    private func value(
        of item: StoredItem, _ left: inout [(name: String, reason: String)]
    ) throws(CLIError) -> SecretValue? {
        let name = item.text(.account) ?? "an item"
        guard item.accessControl == nil else {
            left.append((name, "reading it requires the user"))
            return nil
        }
        guard let value = try logins.value(of: item) else {
            left.append((name, "it has no value"))
            return nil
        }
        return value
    }

    // MARK: Variables

    private func writeVariables(
        _ items: [StoredItem], _ left: inout [(name: String, reason: String)]
    ) throws(CLIError) {
        for item in items {
            let name = item.text(.account) ?? ""
            guard DotenvText.isName(name) else {
                left.append((name, "a variable cannot have that name"))
                continue
            }
            guard let value = try value(of: item, &left) else { continue }
            let hasNull = value.withBytes { $0.firstIndex(of: 0) != nil }
            guard value.isUTF8, !hasNull else {
                left.append((name, "it is not text"))
                continue
            }
            var line = SecretText()
            line.append("\(name)=\"")
            value.withBytes { bytes in
                for index in bytes.indices { Self.append(bytes[index], to: &line) }
            }
            line.append("\"\n")
            try line.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
                try console.write(bytes)
            }
        }
    }

    private static func append(_ byte: UInt8, to line: inout SecretText) {
        switch byte {
        case UInt8(ascii: "\n"): line.append("\\n")
        case UInt8(ascii: "\r"): line.append("\\r")
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "$"), UInt8(ascii: "`"):
            line.append(UInt8(ascii: "\\"))
            line.append(byte)
        default: line.append(byte)
        }
    }

    // MARK: JSON

    private func writeJSON(
        _ items: [StoredItem], _ left: inout [(name: String, reason: String)]
    ) throws(CLIError) {
        try console.write("{\"format\":\"\(JSONExport.format)\",\"items\":[")
        var separator = ""
        for item in items {
            guard let value = try value(of: item, &left) else { continue }
            let names = JSONExport.attributes.filter { $0.attribute.exists(in: item.itemClass) }
            let isText = names.allSatisfy {
                item.attributes[$0.attribute] == nil || item.isText($0.attribute)
            }
            guard isText, item.text(.account)?.utf8.contains(0) != true else {
                left.append((item.text(.account) ?? "an item", "an attribute is not text"))
                continue
            }
            var text = SecretText()
            text.append("\(separator)\n{\"class\":\"\(JSONExport.classes[item.itemClass] ?? "")\"")
            for (attribute, member) in names {
                guard let content = item.text(attribute), !content.isEmpty else { continue }
                text.append(",\"\(member)\":")
                text.appendJSONString(content)
            }
            if item.itemClass == .internetPassword {
                text.append(",\"port\":\(item.number(.port))")
            }
            text.append(
                ",\"accessibility\":\"\(item.protectionClass.word)\",\"cloud\":"
                    + "\(item.isSynchronizable)")
            Self.append(value, to: &text)
            try text.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
                try console.write(bytes)
            }
            separator = ","
        }
        try console.write("\n]}\n")
    }

    private static func append(_ value: SecretValue, to text: inout SecretText) {
        let isText = value.isUTF8 && value.withBytes { $0.firstIndex(of: 0) == nil }
        value.withBytes { bytes in
            if isText {
                text.append(",\"value\":")
                text.appendJSONString(bytes)
            } else {
                text.append(",\"base64\":\"")
                Base64.append(bytes, to: &text)
                text.append("\"")
            }
        }
        text.append("}")
    }
}

extension StoredItem {
    /// Whether the attribute was stored as text.
    fileprivate func isText(_ attribute: Attribute) -> Bool {
        if case .text? = attributes[attribute] { true } else { false }
    }
}
