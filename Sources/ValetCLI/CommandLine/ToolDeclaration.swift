// SPDX-License-Identifier: Apache-2.0

/// What the help of the whole command says.
struct ToolDeclaration: Sendable {
    let abstract: String
    /// Paragraphs.
    let discussion: [String]
    let table: VerbTable
    let environment: [(name: String, help: String)]
    let examples: [(command: String, help: String)]
}
