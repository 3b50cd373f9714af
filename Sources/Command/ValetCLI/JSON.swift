// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// A JSON value to write. Members keep their order.
package indirect enum JSON: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        let name: String
        let value: JSON
    }

    case null
    case boolean(Bool)
    case integer(String)
    case string(String)
    case array([JSON])
    case object([Member])

    package static func text(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }
    /// Null for an empty text.
    static func textIfAny(_ text: String?) -> JSON { text == "" ? .null : .text(text) }
    package static func number(_ number: (some BinaryInteger)?) -> JSON {
        number.map { .integer(String($0)) } ?? .null
    }
    package static func flag(_ flag: Bool) -> JSON { .boolean(flag) }
    /// An object with these members, in order.
    package static func object(_ members: KeyValuePairs<String, JSON>) -> JSON {
        .object(members.map { Member(name: $0.key, value: $0.value) })
    }

    /// The value in the form of RFC 8259, on one line. Escapes all characters that a terminal could
    /// act on.
    var encoded: String {
        switch self {
        case .null: "null"
        case .boolean(let flag): flag ? "true" : "false"
        case .integer(let digits): digits
        case .string(let text): Self.quoted(text)
        case .array(let values): "[" + values.map(\.encoded).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.map { Self.quoted($0.name) + ":" + $0.value.encoded }
                .joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        // Most names are ASCII, and need no lookup in the tables of Unicode.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }) {
            return "\"" + text + "\""
        }
        var result = SecretText(capacity: text.utf8.count + 16)
        result.appendJSONString(text)
        return result.publicText()
    }
}
