// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

/// What may take the place of the last word of a command line that is not finished.
struct Completion {
    /// What a shell completes by itself.
    enum Kind: String {
        case words, files, folders, programs
    }

    private(set) var kind = Kind.words
    private(set) var words: [(word: String, help: String)] = []

    /// - Parameters:
    ///   - line: The words after the program's name. The last one, which may be empty, is
    ///     completed.
    ///   - names: The names of secrets that the options choose.
    init(of line: [String], in table: VerbTable, names: (ParsedValues) -> [String]) {
        let current = line.last ?? ""
        var rest = line.dropLast()
        if rest.first == "help" { rest.removeFirst() }
        var group: String?
        while let word = rest.popFirst() {
            let entry = table[VerbTable.name(word, in: group)]
            if case .group(let found)? = entry {
                group = found.name
                continue
            }
            var verb = table.verb(calledAlso: word, in: group)
            if case .verb(let found)? = entry { verb = found }
            guard let verb else { return }
            // Both `otp` and `otp add` are verbs.
            let longer = rest.first.flatMap { table[VerbTable.name($0, in: verb.name)] }
            if case .verb(let longer)? = longer {
                complete(current, after: rest.dropFirst(), of: longer, names)
            } else {
                complete(current, after: rest, of: verb, names)
            }
            return
        }
        words = table.entries(in: group).filter { $0.name.hasPrefix(current) }
            .map { ($0.name, $0.abstract) }
        let options: [OptionDeclaration] = group == nil ? [.help, .version] : [.help]
        if current.hasPrefix("-") { offer(options, current) }
    }

    private mutating func complete(
        _ current: String, after rest: ArraySlice<String>, of verb: CommandDeclaration,
        _ names: (ParsedValues) -> [String]
    ) {
        let typed = TypedWords(rest, of: verb)
        if let option = typed.pending {
            return offerValues(of: option, current, "", typed.values, names)
        }
        if current.hasPrefix("-"), !typed.endsOptions {
            let name = current.prefix { $0 != "=" }
            guard name != current[...] else {
                return offer(
                    verb.allOptions.filter { $0.isRepeatable || !typed.given.contains($0) },
                    current)
            }
            let option = verb.allOptions.first { $0.spelling == name && $0.valueName != nil }
            guard let option else { return }
            let start = name + "="
            return offerValues(
                of: option, String(current.dropFirst(start.count)), String(start), typed.values,
                names)
        }
        if verb.takesProgram, verb.arguments.first?.name != CompletionsCommand.shell.name {
            kind = typed.count == 0 ? .programs : .files
        } else if let last = verb.arguments.last {
            let isKnown = typed.count < verb.arguments.count
            guard isKnown || last.isRepeatable else { return }
            let argument = isKnown ? verb.arguments[typed.count] : last
            offerValues(named: argument.name, current, "", typed.values, names)
        }
    }

    private mutating func offer(_ options: [OptionDeclaration], _ current: String) {
        words += options.filter { $0.spelling.hasPrefix(current) }.map { ($0.spelling, $0.help) }
    }

    private mutating func offerValues(
        of option: OptionDeclaration, _ current: String, _ start: String, _ values: ParsedValues,
        _ names: (ParsedValues) -> [String]
    ) {
        guard option.choices.isEmpty else {
            words = option.choices.filter { $0.hasPrefix(current) }.map { (start + $0, "") }
            return
        }
        offerValues(named: option.valueName ?? "", current, start, values, names)
    }

    /// - Parameter name: What the help calls the value.
    private mutating func offerValues(
        named name: String, _ current: String, _ start: String, _ values: ParsedValues,
        _ names: (ParsedValues) -> [String]
    ) {
        switch name {
        case "KEY":
            words = names(values).filter { $0.hasPrefix(current) }.map { (start + $0, "") }
        case "SHELL":
            words = ShellScript.all.keys.sorted().filter { $0.hasPrefix(current) }
                .map { (start + $0, "") }
        case "FILE": kind = .files
        case "FOLDER", "DIRECTORY": kind = .folders
        default: break
        }
    }
}

/// The words between a verb and the one that is completed.
private struct TypedWords {
    /// The option whose value comes next.
    private(set) var pending: OptionDeclaration?
    private(set) var given: Set<OptionDeclaration> = []
    /// How many words are not options.
    private(set) var count = 0
    private(set) var endsOptions = false
    /// What the words choose, as far as they are understood.
    let values: ParsedValues

    init(_ words: ArraySlice<String>, of verb: CommandDeclaration) {
        var scanner = ArgumentScanner(verb: verb, words: words)
        try? scanner.scan()
        values = scanner.values
        for word in words {
            if pending != nil {
                pending = nil
            } else if word == "--", !endsOptions {
                endsOptions = true
            } else if word.hasPrefix("-"), word != "-", !endsOptions {
                let name = word.prefix { $0 != "=" }
                guard let option = verb.allOptions.first(where: { $0.spelling == name }) else {
                    continue
                }
                given.insert(option)
                if option.valueName != nil, name == word[...] { pending = option }
            } else {
                count += 1
                if verb.takesProgram { endsOptions = true }
            }
        }
    }
}

/// The names of secrets that some options choose, for completion. Asks nobody, and opens no value.
struct NameSearch {
    /// More would not help anybody.
    private static let maximumCount = 1000

    let names: [String]

    /// - Throws: Also for a locked keychain.
    init(_ values: ParsedValues, _ context: Context) throws(CLIError) {
        // The search would use up an answer that the finished command line needs.
        guard Environment.ofProcess.value("VALET_PASSCODE_FD") == nil else {
            names = []
            return
        }
        let scope = try ItemOptions.scope(values)
        let session = try requesting(context.session(of: scope.requester))
        var names: [String] = []
        // Whether names are missing does not matter to a completion.
        var omission: KeychainFailure?
        let selection = ItemSelection(
            scope: scope, key: nil, password: try PasswordOptions(values))
        var walk = try requesting(session.walk(selection.queries))
        while !walk.isAtEnd, names.count < Self.maximumCount {
            let found = try requesting(session.next(of: &walk, selection.queries))
                .readable(noting: &omission)
            names += found.map(ListedItem.init).filter { !$0.isCanary }.map(\.name)
        }
        // A command line cannot have the others.
        self.names = names.filter {
            !$0.isEmpty && Escaping.harmless($0) == $0
                && !$0.contains { $0.isNewline || $0 == "\t" }
        }
    }
}
