// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing

/// An access key of AWS, with the token and expiration of a temporary key: the value of an item.
/// `aws-credentials` and imports read and write it.
struct AWSKeySet {
    /// The members that a credential_process writes.
    private enum Member: String, CaseIterable {
        case id = "AccessKeyId"
        case secret = "SecretAccessKey"
        case token = "SessionToken"
        case expiration = "Expiration"
        case account = "AccountId"
    }

    private var members: [Member: SecretValue] = [:]
    /// When temporary keys expire.
    private(set) var end: ISOTime?

    /// Keys from elsewhere than JSON.
    ///
    /// - Returns: nil for empty keys, for text that is not UTF-8, and for an end that is no time.
    init?(
        id: SecretValue, secret: SecretValue, token: SecretValue? = nil, end: String? = nil,
        account: SecretValue? = nil
    ) {
        members = [.id: id, .secret: secret]
        members[.token] = token
        members[.account] = account
        guard members.values.allSatisfy({ $0.isUTF8 && $0.byteCount > 0 }) else { return nil }
        if let end {
            guard let time = ISOTime(end) else { return nil }
            set(time, writtenAs: end)
        }
    }

    /// Reads the output of a credential_process, of `aws sts`, `aws sso` or `aws iam
    /// create-access-key`, or of a metadata service.
    ///
    /// - Parameter name: What the JSON is called in errors.
    init(parsing text: SecretValue, called name: String) throws(CLIError) {
        // The names differ in their first letter, and in that of the token.
        try JSONDocument(text, called: name).forEachRow(
            """
            SELECT iif(lower(key) = 'token', 'sessiontoken', lower(key)), type,
                CAST(atom AS TEXT), iif(type = 'integer' OR type = 'real',
                    CAST(atom AS INTEGER), 0)
            FROM document, json_tree(document.text)
            WHERE json_tree.path IN ('$', '$.Credentials', '$.AccessKey', '$.roleCredentials')
                AND lower(key) IN ('accesskeyid', 'secretaccesskey', 'sessiontoken', 'token',
                    'expiration', 'accountid', 'version')
                AND json_tree.type <> 'null'
            """
        ) { row throws(CLIError) in try read(row, called: name) }
        guard [.id, .secret].allSatisfy({ (members[$0]?.byteCount ?? 0) > 0 }) else {
            throw .usage(
                "\(name) has no AccessKeyId or no SecretAccessKey, or an empty one",
                hint: "expected the output of a credential_process, of 'aws sts' or of 'aws iam "
                    + "create-access-key'")
        }
    }

    private mutating func read(
        _ row: borrowing JSONDocument.Row, called name: String
    ) throws(CLIError) {
        let key = try row.text(0)
        let type = try row.text(1) ?? ""
        guard key != "version" else {
            guard type == "integer", row.number(3) == 1 else {
                throw .usage("\(name) has a Version that is not the number 1")
            }
            return
        }
        guard let member = Member.allCases.first(where: { $0.rawValue.lowercased() == key })
        else { return }
        guard members[member] == nil else {
            throw .usage("\(name) has two members \(member.rawValue)")
        }
        if member == .expiration {
            try read(type, try row.text(2) ?? "", row.number(3), called: name)
        } else {
            guard type == "text" else {
                throw .usage("\(name) has a member \(member.rawValue) that is not a string")
            }
            members[member] = try row.secret(2)
        }
    }

    /// Reads an expiration: ISO 8601, or seconds or milliseconds since 1970. Without it, temporary
    /// keys would be returned without end.
    private mutating func read(
        _ type: String, _ text: String, _ number: Int64, called name: String
    ) throws(CLIError) {
        let time: ISOTime? =
            switch type {
            case "text": ISOTime(text)
            case "integer", "real": ISOTime(sinceEpoch: number)
            default: nil
            }
        guard let time else {
            throw .usage(
                "\(name) has an Expiration that is not a time",
                hint: "expected ISO 8601, such as 2030-01-31T12:00:00Z")
        }
        set(time, writtenAs: text)
    }

    /// Keeps a text that every tool reads unchanged.
    private mutating func set(_ time: ISOTime, writtenAs text: String) {
        end = time
        members[.expiration] = SecretValue(
            copying: Array((time.isInternet ? text : time.text).utf8).span)
    }

    /// The object that a credential_process writes.
    var encoded: SecretValue {
        var text = SecretText()
        text.append("{\"Version\":1")
        for member in Member.allCases {
            guard let value = members[member] else { continue }
            text.append(",\"\(member.rawValue)\":")
            value.withBytes { text.appendJSONString($0) }
        }
        text.append("}")
        return text.value()
    }
}
