// SPDX-License-Identifier: Apache-2.0

// What shells and manual pages take from the declarations: `completions` and `manual`.

internal import ValetSystem

/// `valet completions SHELL`.
enum CompletionsCommand {
    static let shell = ArgumentDeclaration(name: "SHELL", help: "bash, zsh or fish")
    /// The argument with which the scripts ask for completions.
    private static let next = "next"

    static let declaration = CommandDeclaration(
        name: "completions", abstract: "write a script that completes command lines in a shell",
        synonyms: ["completion"],
        discussion: [
            "Writes the script to standard output. The script asks 'valet' itself what may follow: "
                + "verbs, options, their values, and names of secrets. For names it asks nobody, "
                + "and opens no value; while the keychain is locked there are none.",
            "Packages install the scripts. Without one, put the line of the example into "
                + "~/.bashrc or ~/.zshrc; fish reads "
                + "~/.config/fish/completions/valet.fish.",
        ],
        arguments: [shell], takesProgram: true,
        examples: [
            ("eval \"$(valet completions bash)\"", "For this bash; zsh likewise."),
            (
                "valet completions fish > ~/.config/fish/completions/valet.fish",
                "For fish, from the next start on."
            ),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let words = values.programWords
        switch words.first {
        case next:
            try complete(words, ValetTool.table(adding: context.added), context)
            return .success
        case let name? where words.count == 1:
            guard let script = ShellScript.all[name] else {
                throw .usage("there is no script for \(quoted(name))", hint: "for \(shell.help)")
            }
            try context.console.write(script)
            return .success
        default: throw .usage("unexpected argument", hint: "usage: \(declaration.usage)")
        }
    }

    /// Answers a script for the program of one group of verbs. Returns false if the arguments are
    /// not a script's.
    static func answer(
        _ arguments: [String?], in context: Context, _ table: VerbTable
    ) throws(CLIError) -> Bool {
        let words = arguments.compactMap(\.self)
        guard words.count == arguments.count, words.first == declaration.name,
            words.dropFirst().first == next
        else { return false }
        try complete(Array(words.dropFirst()), table, context)
        return true
    }

    /// Writes the completions: a line with the kind of words, and a line for each word.
    ///
    /// - Parameter words: `next`, the shell, and the words of the command line; for bash the text
    ///   of the command line, and the word that bash completes.
    private static func complete(
        _ words: [String], _ table: VerbTable, _ context: Context
    ) throws(CLIError) {
        guard words.count >= 3, ShellScript.all[words[1]] != nil else {
            throw .usage("unexpected argument", hint: "usage: \(declaration.usage)")
        }
        Terminal.turnQuestionsOff()
        let line =
            words[1] == "bash"
            ? ShellLine(words[2], completing: words.count > 3 ? words[3] : "")
            : ShellLine(Array(words[2...]), isQuoted: words[1] == "fish")
        if line.words.count > 1, line.words[0] == SyncCommand.declaration.name,
            case .verb = table[line.words[0]]
        {
            SyncCommand.handOverCompletion(like: context.console)
        }
        let completion = Completion(of: line.words, in: table) { values in
            (try? NameSearch(values, context).names) ?? []
        }
        var text = completion.kind.rawValue + "\n"
        for (word, help) in completion.words {
            guard let word = line.replacement(word) else { continue }
            text += words[1] == "bash" || help.isEmpty ? word + "\n" : word + "\t" + help + "\n"
        }
        try context.console.write(Array(text.utf8).span)
    }
}

/// `valet manual FOLDER`.
enum ManualCommand {
    private static let folder = ArgumentDeclaration(
        name: "FOLDER", help: "an existing folder for the pages")

    static let declaration = CommandDeclaration(
        name: "manual", abstract: "write the manual pages into a folder",
        discussion: [
            "Writes valet.1, and a page for each verb and group, as valet-run.1. Packages install "
                + "them below share/man/man1. Files of these names are replaced."
        ],
        arguments: [folder],
        examples: [("valet manual ~/.local/share/man/man1", "Then 'man valet' shows them.")])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let folder = values[folder] ?? ""
        let table = ValetTool.table(adding: context.added)
        let names = table.verbs.map(\.name) + table.groups.map(\.name)
        try write(HelpPage(ValetTool.declaration, in: table), related: names.sorted(), folder)
        try writePages(of: table, folder)
        return .success
    }

    /// Writes the pages for the program of one group of verbs. Returns false if the arguments do
    /// not ask for them.
    static func answer(_ arguments: [String?], _ table: VerbTable) throws(CLIError) -> Bool {
        guard arguments.count == 2, arguments[0] == declaration.name, let folder = arguments[1]
        else { return false }
        try writePages(of: table, folder)
        return true
    }

    private static func writePages(of table: VerbTable, _ folder: String) throws(CLIError) {
        for verb in table.verbs { try write(HelpPage(verb), related: [""], folder) }
        for group in table.groups {
            let verbs = table.below(group.name).map(\.name)
            try write(HelpPage(group, in: table), related: [""] + verbs, folder)
        }
    }

    private static func write(
        _ page: HelpPage, related: [String], _ folder: String
    ) throws(CLIError) {
        let text = ManualPage.text(for: page, related: related)
        let path = folder + "/" + ManualPage.fileName(page.name)
        do {
            var file = try AtomicFile(at: path, replacing: true, isPublic: true)
            try file.append(Array(text.utf8).span)
            try file.commit()
        } catch {
            throw CLIError(error)
        }
    }
}
