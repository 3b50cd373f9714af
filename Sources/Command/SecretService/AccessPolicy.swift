// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSystem

/// What the user lets each program do with each collection: docs/SECRET-SERVICE.md, "A choice for
/// each program".
struct AccessPolicy: Sendable {
    enum Access: String, Sendable {
        case allow
        /// A person has to agree; until then the collection looks locked.
        case ask
        /// The collection always looks locked.
        case deny
    }

    struct Rule: Sendable {
        let access: Access
        /// `*` for all.
        let collection: String
        /// A path, a sandbox, or `*` for all.
        let program: String

        static let everything = "*"

        /// Whether the rule is for a program. A rule that allows must name the very file that runs,
        /// or the sandbox; for other rules the path is enough, which an upgrade leaves as it was,
        /// and what is unknown may be what they mean.
        ///
        /// - Parameter places: Where the paths of the policy lead.
        func isFor(_ asking: AskingProgram, _ places: [String: PolicyPaths.Place]) -> Bool {
            guard program != Self.everything else { return true }
            guard program.hasPrefix("/") else {
                switch asking.sandbox {
                case .none: return false
                case .named(let name): return name == program
                case .unknown: return access != .allow
                }
            }
            guard let executable = asking.executable else {
                return access != .allow && asking.hasProcess
            }
            let place = places[program]
            if let found = place?.identity, place?.isCurrent == true || access != .allow,
                found.isSameFile(as: executable.identity)
            {
                return true
            }
            // The kernel marks a file that another one has replaced.
            let names = [program, place?.resolved ?? program].flatMap { name in
                [name, name + " (deleted)"]
            }
            return access != .allow && names.contains(executable.path)
        }
    }

    let rules: [Rule]
    /// Whether each secret that a program gets is logged.
    let notesReads: Bool

    /// Lets nobody do anything: for a file that is being written, and until one could be read.
    static let closed = AccessPolicy(rules: [
        Rule(access: .deny, collection: Rule.everything, program: Rule.everything)
    ])

    /// Whether nobody may do anything.
    var isClosed: Bool {
        rules.count == 1 && rules[0].access == .deny && rules[0].program == Rule.everything
            && rules[0].collection == Rule.everything
    }

    private init(rules: [Rule]) { (self.rules, notesReads) = (rules, false) }

    /// The paths of the rules.
    var paths: Set<String> { Set(rules.map(\.program).filter { $0.hasPrefix("/") }) }

    /// - Throws: `invalidRequest`, which names the line.
    init(_ text: String) throws(KeychainFailure) {
        var (rules, notesReads): ([Rule], Bool) = ([], false)
        for (index, line) in text.withoutByteOrderMark.lines.enumerated() {
            let words = line.trimmed.split(maxSplits: 2, whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            if words == ["log", "reads"] {
                notesReads = true
                continue
            }
            guard words.count == 3, let access = Access(rawValue: String(first)) else {
                throw Self.mistake(
                    index, "a rule is 'allow', 'ask' or 'deny', a collection, and a program")
            }
            let collection = String(words[1])
            guard collection == Rule.everything || Self.isName(collection) else {
                throw Self.mistake(
                    index, "a collection is its name on the bus, such as 'login', or '*' for all")
            }
            // A path may contain spaces.
            let program = String(words[2].drop(while: \.isWhitespace))
            guard !program.hasSuffix("/"), !program.contains("#") else {
                throw Self.mistake(index, "a program has no '#' and no '/' at the end")
            }
            let isSandbox = ["flatpak:", "snap:"].contains {
                program.hasPrefix($0) && program != $0
            }
            guard program == Rule.everything || program.hasPrefix("/") || isSandbox else {
                throw Self.mistake(
                    index, "a program is a path, 'flatpak:ID', 'snap:NAME', or '*' for all")
            }
            rules.append(Rule(access: access, collection: collection, program: program))
        }
        guard !rules.isEmpty || notesReads else {
            throw KeychainFailure(
                .invalidRequest, during: "read the policy", message: "it has no rule",
                hint: "remove the file, or write 'allow * *'")
        }
        (self.rules, self.notesReads) = (rules, notesReads)
    }

    /// Whether a collection can have that name; `default` is an alias.
    private static func isName(_ text: String) -> Bool {
        text != "default" && CollectionList.plain(text) == text
    }

    private static func mistake(_ index: Int, _ message: String) -> KeychainFailure {
        KeychainFailure(
            .invalidRequest, during: "read the policy", message: "line \(index + 1): \(message)")
    }
}

extension String {
    /// Some editors begin a text with the mark.
    fileprivate var withoutByteOrderMark: Substring {
        hasPrefix("\u{FEFF}") ? dropFirst() : self[...]
    }
}

extension Substring {
    fileprivate var lines: [Substring] {
        split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    }
}
