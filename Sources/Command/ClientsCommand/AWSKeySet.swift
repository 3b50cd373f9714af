// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing
internal import ValetSystem

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

    /// Keys that do not come from JSON.
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
        var reader = try JSONReader(text, called: name)
        try reader.document { (key, reader) throws(CLIError) in
            guard ["Credentials", "AccessKey", "roleCredentials"].contains(key),
                reader.kind == .object
            else { return try read(key, &reader, called: name) }
            try reader.object(isUnique: false) { (key, reader) throws(CLIError) in
                try read(key, &reader, called: name)
            }
        }
        guard [.id, .secret].allSatisfy({ (members[$0]?.byteCount ?? 0) > 0 }) else {
            throw CLIError(
                .damaged,
                "\(name) has no AccessKeyId or no SecretAccessKey, or an empty one",
                hint: "expected the output of a credential_process, of 'aws sts' or of 'aws iam "
                    + "create-access-key'")
        }
    }

    /// Reads a member. Its name varies with the source: in the case of letters, and for the token.
    private mutating func read(
        _ key: String, _ reader: inout JSONReader, called name: String
    ) throws(CLIError) {
        let key = HostName.lowercased(key)
        let member =
            key == "token" ? .token : Member.allCases.first { $0.rawValue.lowercased() == key }
        guard member != nil || key == "version" else { return }
        var (text, word) = (SecretValue?.none, "")
        switch reader.kind {
        case .string: text = try reader.string()
        case .number, .literal: word = try reader.word()
        case .object, .array: break
        }
        // Long-lived keys may have an empty token, which the tools would take for one.
        guard word != "null", text?.byteCount != 0 else { return }
        guard let member else {
            guard word == "1" else {
                throw CLIError(.damaged, "\(name) has a Version that is not the number 1")
            }
            return
        }
        guard members[member] == nil else {
            throw CLIError(.damaged, "\(name) has two members \(member.rawValue)")
        }
        if member == .expiration {
            try setEnd(text?.publicText, word, called: name)
        } else {
            guard let text else {
                throw CLIError(
                    .damaged, "\(name) has a member \(member.rawValue) that is not a string")
            }
            members[member] = text
        }
    }

    /// Reads an expiration: ISO 8601, or seconds or milliseconds since 1970. If any other form were
    /// ignored, temporary keys would be returned after they have expired.
    private mutating func setEnd(
        _ text: String?, _ word: String, called name: String
    ) throws(CLIError) {
        let number = Int64(word) ?? Double(word).flatMap { Int64(exactly: $0.rounded(.towardZero)) }
        guard let time = text.flatMap(ISOTime.init) ?? number.flatMap(ISOTime.init(sinceEpoch:))
        else {
            throw CLIError(
                .damaged,
                "\(name) has an Expiration that is not a time",
                hint: "expected ISO 8601, such as 2030-01-31T12:00:00Z")
        }
        set(time, writtenAs: text ?? "")
    }

    /// Sets the expiration. Keeps `text` if every tool reads that form, else writes the time anew.
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
