// SPDX-License-Identifier: Apache-2.0

/// The verbs of a command, and the groups that some of them are in.
///
/// A verb's name is all words that lead to it, `backup create`; the groups on the way have names
/// of their own, `backup`.
struct VerbTable: Sendable {
    let verbs: [CommandDeclaration]
    let groups: [GroupDeclaration]

    /// What a name stands for.
    enum Entry: Sendable {
        case verb(CommandDeclaration)
        case group(GroupDeclaration)

        var abstract: String {
            switch self {
            case .verb(let verb): verb.abstract
            case .group(let group): group.abstract
            }
        }
    }

    /// What `name` stands for, with all words that lead there.
    subscript(name: String) -> Entry? {
        if let verb = verbs.first(where: { $0.name == name }) { return .verb(verb) }
        return groups.first { $0.name == name }.map { .group($0) }
    }

    /// The next words behind a group's name, in the order of the verbs; at the start for nil.
    func words(in group: String?) -> [String] {
        var words: [String] = []
        for verb in below(group) {
            let rest = verb.name.dropFirst(group.map { $0.count + 1 } ?? 0)
            let word = String(rest.prefix { $0 != " " })
            if !words.contains(word) { words.append(word) }
        }
        return words
    }

    /// What follows a group's name: each word with what it is for.
    func entries(in group: String?) -> [(name: String, abstract: String)] {
        words(in: group).map { ($0, self[Self.name($0, in: group)]?.abstract ?? "") }
    }

    /// The verbs in a group, and in the groups in it.
    func below(_ group: String?) -> [CommandDeclaration] {
        guard let group else { return verbs }
        return verbs.filter { $0.name.hasPrefix(group + " ") }
    }

    /// The name of what `word` stands for in a group.
    static func name(_ word: String, in group: String?) -> String {
        group.map { $0 + " " + word } ?? word
    }
}
