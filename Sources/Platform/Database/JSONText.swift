// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

/// A text of JSON, as strict as RFC 8259. SQLite parses it, and answers queries by its functions
/// for JSON (https://sqlite.org/json1.html).
package struct JSONText {
    /// A database with the table `document(text)`, of one row.
    private let connection: Connection

    /// Reads a text.
    ///
    /// - Returns: nil for anything but JSON.
    /// - Throws: ``SystemError/Code/outOfMemory``.
    package init?(_ text: Span<UInt8>) throws(SystemError) {
        // SQLite reads text up to its first null byte, and cuts strings at escaped ones.
        guard Self.isText(text) else { return nil }
        connection = try Connection.inMemory()
        try Statement("CREATE TABLE document (text TEXT NOT NULL) STRICT", on: connection).execute()
        let insertion = try Statement("INSERT INTO document VALUES (?1)", on: connection).start()
        try insertion.bind(text: text, at: 1)
        try insertion.finish()
        let check = try start("SELECT json_valid(text) FROM document")
        guard try check.step(), check.int64(0) == 1 else { return nil }
        try check.finish()
    }

    /// Starts a query of the table `document`.
    ///
    /// - Throws: ``SystemError``.
    package func start(_ sql: StaticString) throws(SystemError) -> Statement.Run {
        try Statement(sql, on: connection).start()
    }

    /// Whether the bytes are UTF-8 without null bytes, escaped or not.
    private static func isText(_ bytes: Span<UInt8>) -> Bool {
        guard (try? UTF8Span(validating: bytes)) != nil else { return false }
        let null = Array("u0000".utf8)
        var index = 0
        while index < bytes.count {
            if bytes[index] == 0 { return false }
            if bytes[index] == UInt8(ascii: "\\") {
                let isNull =
                    bytes.count - index > null.count
                    && null.indices.allSatisfy { bytes[index + 1 + $0] == null[$0] }
                if isNull { return false }
                index += 1
            }
            index += 1
        }
        return true
    }
}
