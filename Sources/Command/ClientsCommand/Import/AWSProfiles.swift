// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing

/// The keys of AWS in files: `~/.aws/credentials` and `~/.aws/config` (AWS SDKs and Tools Reference
/// Guide, "Shared config and credentials files"), and the CSV that its console writes.
enum AWSProfiles {
    // MARK: Profiles

    /// The items: for each profile with keys, the item that `aws-credentials store` would store.
    static func items(in text: SecretValue) throws(CLIError) -> ImportedItems {
        var found = ImportedItems()
        var profiles: [Profile] = []
        // By the bytes of the names.
        var places: [[UInt8]: Int] = [:]
        try text.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
            var current: Int?
            // A line that is indented further than a setting continues that setting.
            var indent = Int.max
            for (index, range) in bytes.lines.enumerated() {
                let line = bytes.extracting(range)
                let content = line.extracting(line.trimmedRange)
                let place = line.indices.first { !line[$0].isBlank } ?? 0
                guard !content.isEmpty, !"#;".utf8.contains(content[0]) else { continue }
                if content[0] == UInt8(ascii: "[") {
                    guard let name = profileName(content) else {
                        throw .malformed("the file", line: index + 1, "expected [PROFILE]")
                    }
                    current = places[Array(name.utf8)] ?? profiles.count
                    if current == profiles.count { profiles.append(Profile(name: name)) }
                    places[Array(name.utf8)] = current
                    indent = Int.max
                } else if place <= indent {
                    indent = place
                    guard let current, profiles[current].read(content) else {
                        // The line may be a key in a wrong place: it is not shown.
                        throw .malformed(
                            "the file", line: index + 1, "expected [PROFILE] or NAME = VALUE")
                    }
                }
            }
        }
        for profile in profiles { try profile.add(to: &found) }
        return found
    }

    /// The name of a section: `[name]`, `[profile name]` or `[profile "name"]`.
    private static func profileName(_ line: Span<UInt8>) -> String? {
        guard let end = line.firstIndex(of: UInt8(ascii: "]")) else { return nil }
        let rest = line.extracting((end + 1)..<line.count)
        guard rest.trimmedRange.isEmpty || "#;".utf8.contains(rest[rest.trimmedRange.lowerBound])
        else { return nil }
        var name = line.extracting(1..<end)
        name = name.extracting(name.trimmedRange)
        if name.startsWith("profile"), name.count > 7, name[7].isBlank {
            name = name.extracting(8..<name.count)
            name = name.extracting(name.trimmedRange)
        }
        if name.count >= 2, "\"'".utf8.contains(name[0]), name[name.count - 1] == name[0] {
            name = name.extracting(1..<(name.count - 1))
        }
        return name.isEmpty ? nil : name.text
    }

    private struct Profile {
        let name: String
        private var settings: [Setting: SecretValue] = [:]
        private var others: [String] = []
        /// Whether one setting has two values.
        private var isAmbiguous = false

        init(name: String) { self.name = name }

        private enum Setting: String {
            case id = "aws_access_key_id"
            case secret = "aws_secret_access_key"
            case token = "aws_session_token"
            case account = "aws_account_id"
            case end = "aws_expiration"

            /// Names that other tools write.
            private static let otherNames: [String: Setting] = [
                "aws_security_token": .token, "expiration": .end,
                "x_security_token_expires": .end, "aws_session_expiration": .end,
                "aws_credentials_expiration": .end,
            ]

            init?(name: String) {
                guard let setting = Setting(rawValue: name) ?? Self.otherNames[name] else {
                    return nil
                }
                self = setting
            }
        }

        /// Reads a line `name = value`; returns false for any other line.
        mutating func read(_ line: Span<UInt8>) -> Bool {
            guard let mark = line.indices.first(where: { "=:".utf8.contains(line[$0]) }) else {
                return false
            }
            let head = line.extracting(0..<mark)
            guard let name = head.extracting(head.trimmedRange).text, !name.isEmpty else {
                return false
            }
            guard let setting = Setting(name: name.lowercased()) else {
                others.append(name)
                return true
            }
            var value = line.extracting((mark + 1)..<line.count)
            value = value.extracting(value.trimmedRange)
            // A comment begins with a blank and `#` or `;`, which no key contains.
            var end: Int?
            for index in value.indices.dropFirst() where end == nil && value[index - 1].isBlank {
                if "#;".utf8.contains(value[index]) { end = index }
            }
            if let end { value = value.extracting(0..<end) }
            value = value.extracting(value.trimmedRange)
            let new = value.isEmpty ? nil : SecretValue(copying: value)
            if let old = settings[setting], new.map(old.isEqual) != true { isAmbiguous = true }
            settings[setting] = new
            return true
        }

        func add(to found: inout ImportedItems) throws(CLIError) {
            if !others.isEmpty {
                found.skip(
                    name, "other settings stay in the file: " + others.joined(separator: ", "))
            }
            guard !isAmbiguous else {
                return found.skip(name, "one of its settings has two values")
            }
            guard let id = settings[.id], let secret = settings[.secret] else {
                let isWithout = settings[.id] == nil && settings[.secret] == nil
                return found.skip(
                    name, isWithout ? "it has no keys" : "one of its two keys is missing")
            }
            let end = settings[.end]?.publicText
            let keys = AWSKeySet(
                id: id, secret: secret, token: settings[.token], end: end,
                account: settings[.account])
            guard let keys else {
                return found.skip(name, "its keys are not UTF-8, or its expiration is no time")
            }
            try found.add(ImportedItem(profile: name, keys, from: name))
        }
    }

    // MARK: CSV

    /// The items of the console's CSV, with or without users and their passwords; or of the older
    /// file of the root user, lines `AWSAccessKeyId=…` and `AWSSecretKey=…`.
    static func items(inCSV text: SecretValue, _ scope: Scope) throws(CLIError) -> ImportedItems {
        var found = ImportedItems()
        let isOfRoot = text.withBytes { $0.startsWith("AWSAccessKeyId=") }
        guard !isOfRoot else {
            try rootKeys(text).add(to: &found, scope)
            return found
        }
        var rows = try SeparatedRows(text)
        let header = try rows.next() ?? []
        let names = header.map { rows.value($0).publicText?.lowercased() ?? "" }
        guard names.contains("access key id") || names.contains("password") else {
            throw CLIError(
                .damaged, "the CSV has no column 'Access key ID'",
                hint: "expected the file that the console of AWS writes; '--from csv' reads others")
        }
        while let fields = try rows.next() {
            if fields.count == 1, fields[0].isEmpty { continue }
            guard fields.count == names.count else {
                throw .malformed(
                    "the CSV", line: rows.rowLine,
                    "\(fields.count) fields, where the first row has \(names.count)")
            }
            var row = Row(source: "line \(rows.rowLine)")
            for (name, field) in zip(names, fields) where !field.isEmpty {
                row.read(name, rows.value(field))
            }
            try row.add(to: &found, scope)
        }
        return found
    }

    private static func rootKeys(_ text: SecretValue) -> Row {
        text.withBytes { bytes in
            var row = Row(source: "the root user")
            for range in bytes.lines {
                let line = bytes.extracting(range)
                guard let mark = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
                let rest = line.extracting((mark + 1)..<line.count)
                let value = SecretValue(copying: rest.extracting(rest.trimmedRange))
                switch line.extracting(0..<mark).text {
                case "AWSAccessKeyId": row.id = value
                case "AWSSecretKey": row.secret = value
                case let name: row.others.append(name ?? "a line")
                }
            }
            return row
        }
    }

    private struct Row {
        let source: String
        var user: String?
        var id, secret, password: SecretValue?
        var link: String?
        var others: [String] = []

        init(source: String) { self.source = source }

        mutating func read(_ column: String, _ value: SecretValue) {
            switch column {
            case "user name", "username": user = value.publicText
            case "access key id": id = value
            case "secret access key": secret = value
            case "password", "console password": password = value
            case "console login link", "console sign-in url", "console signin link":
                link = value.publicText
            default: others.append(column)
            }
        }

        func add(to found: inout ImportedItems, _ scope: Scope) throws(CLIError) {
            let profile = user ?? "default"
            let source = user.map { "\($0) (\(self.source))" } ?? self.source
            if !others.isEmpty {
                found.skip(source, "not imported: " + others.joined(separator: ", "))
            }
            if let id, let secret {
                if let keys = AWSKeySet(id: id, secret: secret) {
                    try found.add(ImportedItem(profile: profile, keys, from: source))
                } else {
                    found.skip(source, "its keys are not UTF-8")
                }
            } else if id != nil || secret != nil {
                found.skip(source, "one of its two keys is missing")
            } else if password == nil {
                found.skip(source, "it has no keys")
            }
            guard let password else { return }
            if let address = link.flatMap(LoginAddress.init),
                let place = LoginPlace(address, path: "")
            {
                try found.add(
                    ImportedItem(
                        place, account: user ?? "", kind: .form, password, from: source))
            } else {
                try found.add(
                    ImportedItem("AWS/\(profile)/password", password, in: scope, from: source))
            }
        }
    }
}

extension UInt8 {
    /// Whether the byte is a space, a tab or a carriage return.
    var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0D }
}

extension Span<UInt8> {
    /// The range without the blanks at both ends.
    var trimmedRange: Range<Int> {
        var (start, end) = (0, count)
        while start < end, self[start].isBlank { start += 1 }
        while end > start, self[end - 1].isBlank { end -= 1 }
        return start..<end
    }
}
