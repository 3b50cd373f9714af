// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetDatabase
internal import ValetSealing
internal import ValetSystem

/// A JSON document with secrets, as strict as RFC 8259. SQLite parses it; its memory is wiped
/// (``ClientsTool``).
struct JSONDocument {
    private let text: JSONText
    /// What the document is called in errors: "the input".
    private let name: String

    /// - Throws: ``ExitCode/usage`` for anything but JSON.
    init(_ text: SecretValue, called name: String) throws(CLIError) {
        self.name = name
        do {
            let read = try text.withBytes { (bytes) throws(SystemError) in try JSONText(bytes) }
            if let read {
                self.text = read
                return
            }
        } catch {
            throw CLIError(.failure, "could not read \(name): \(error)")
        }
        throw .usage("\(name) is not JSON")
    }

    /// Runs a query, and passes each of its rows to `body`.
    func forEachRow(
        _ sql: StaticString, _ body: (borrowing Row) throws(CLIError) -> Void
    ) throws(CLIError) {
        do {
            var row = Row(run: try text.start(sql), document: name)
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
}
