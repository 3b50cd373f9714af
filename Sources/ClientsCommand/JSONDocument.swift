// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetDatabase
internal import ValetSecretMemory
internal import ValetSystem

/// A JSON document with secrets, as strict as RFC 8259. SQLite parses it, and answers queries by
/// its functions for JSON; its memory is wiped (``ClientsTool``).
struct JSONDocument {
    /// A database with the table `document(text)`.
    private let connection: Connection
    /// What the document is called in errors: "the input".
    private let name: String

    /// - Throws: ``ExitCode/usage`` for anything but JSON.
    init(_ text: SecretValue, called name: String) throws(CLIError) {
        self.name = name
        let malformed = CLIError.usage("\(name) is not JSON")
        // SQLite reads text up to its first null byte, and cuts strings at escaped ones.
        guard text.withBytes({ Self.isText($0) }) else { throw malformed }
        do throws(SystemError) {
            connection = try Connection.inMemory()
            try Statement("CREATE TABLE document (text TEXT NOT NULL) STRICT", on: connection)
                .execute()
            let insertion = Statement("INSERT INTO document VALUES (?1)", on: connection)
            try text.withBytes { (bytes) throws(SystemError) in
                let run = try insertion.start()
                try run.bind(text: bytes, at: 1)
                try run.finish()
            }
        } catch {
            throw CLIError(.failure, "could not read \(name): \(error)")
        }
        var isValid = false
        try forEachRow("SELECT json_valid(text) FROM document") { row throws(CLIError) in
            isValid = row.number(0) == 1
        }
        guard isValid else { throw malformed }
    }

    /// Runs a query, and passes each of its rows to `body`.
    func forEachRow(
        _ sql: StaticString, _ body: (borrowing Row) throws(CLIError) -> Void
    ) throws(CLIError) {
        do {
            let run = try Statement(sql, on: connection).start()
            var row = Row(run: run, document: name)
            while try row.step() { try body(row) }
        } catch let error as CLIError {
            throw error
        } catch {
            throw CLIError(.failure, "could not read \(name): \(error)")
        }
    }

    /// One row of an answer.
    struct Row: ~Copyable {
        fileprivate let run: Statement.Run
        fileprivate let document: String

        fileprivate mutating func step() throws(SystemError) -> Bool { try run.step() }

        /// A number; 0 for NULL.
        func number(_ column: Int32) -> Int64 { run.int64(column) }

        /// A copy of a string that is a secret; nil for NULL.
        func secret(_ column: Int32) throws(CLIError) -> SecretValue? {
            guard !run.isNull(column) else { return nil }
            let value = run.withBytes(of: column) { SecretValue(copying: $0) }
            // Half of a surrogate pair stands for no character.
            guard value.isUTF8 else { throw .usage("\(document) has a string that is not UTF-8") }
            return value
        }

        /// A copy of a string that is not secret; nil for NULL.
        func text(_ column: Int32) throws(CLIError) -> String? {
            try secret(column)?.publicText
        }
    }

    /// Whether the bytes are UTF-8 without null bytes, escaped or not.
    private static func isText(_ bytes: Span<UInt8>) -> Bool {
        guard (try? UTF8Span(validating: bytes)) != nil else { return false }
        var index = 0
        while index < bytes.count {
            if bytes[index] == 0 { return false }
            if bytes[index] == UInt8(ascii: "\\") {
                let escape = index + 1..<min(index + 6, bytes.count)
                if bytes.extracting(escape).equals("u0000") { return false }
                index += 1
            }
            index += 1
        }
        return true
    }
}
