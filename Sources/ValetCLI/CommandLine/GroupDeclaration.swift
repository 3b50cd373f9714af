// SPDX-License-Identifier: Apache-2.0

/// Verbs that go by one name: everything that its `--help` needs besides them.
struct GroupDeclaration: Sendable {
    /// The words in front of those of its verbs.
    let name: String
    /// One line, lower case, no full stop.
    let abstract: String
    /// Paragraphs.
    var discussion: [String] = []
    var examples: [(command: String, help: String)] = []
}
