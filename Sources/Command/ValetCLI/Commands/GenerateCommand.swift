// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// `valet generate KEY`.
enum GenerateCommand {
    private static let length = OptionDeclaration(
        name: "length", valueName: "N", help: "how many characters, from 4 to 1024",
        defaultValue: "24")
    private static let alphabet = {
        var option = OptionDeclaration(
            name: "alphabet", valueName: "SET",
            help: "the characters to choose from, each once, or a name for them",
            defaultValue: RandomText.Alphabet.full.rawValue,
            choices: RandomText.Alphabet.allCases.map(\.rawValue))
        option.takesOthers = true
        return option
    }()
    private static let symbols = OptionDeclaration(
        name: "symbols", valueName: "SET",
        help: "use these symbols, and at least one of them: '--symbols=-_.'")
    private static let noSymbols = OptionDeclaration(
        name: "no-symbols", help: "letters and digits alone, like '--alphabet alphanumeric'")
    private static let noAmbiguous = OptionDeclaration(
        name: "no-ambiguous", help: "leave out characters that look alike: 0 O o 1 I l |")
    private static let words = OptionDeclaration(
        name: "words", valueName: "N", help: "a passphrase of N words instead, from 3 to 64")
    private static let separator = OptionDeclaration(
        name: "separator", valueName: "TEXT",
        help: "what stands between words; 'none' for nothing", defaultValue: "-")
    private static let print = OptionDeclaration(
        name: "print", help: "write the secret to standard output, and store nothing")
    private static let force = OptionDeclaration(
        name: "force", letter: "f", help: "replace a secret that exists")

    static let declaration = CommandDeclaration(
        name: "generate", abstract: "store a new random secret",
        synonyms: ["gen", "pwgen", "random", "password"],
        discussion: [
            "Stores a random secret under KEY, and shows nothing of it: 'valet get KEY' or 'valet "
                + "copy KEY' does. Says its entropy in bits on standard error; 80 withstand every "
                + "attack on a password that is stored well, and 128 every attack. With --print "
                + "nothing is stored, and KEY is left out.",
            "A secret that exists stays, unless you agree at a terminal, or use --force. 'valet "
                + "undo KEY' brings the former one back.",
            "There is at least one character of each class: small letters, capital letters, "
                + "digits and symbols, as far as the alphabet has them. All secrets with that "
                + "property are equally likely, because others are thrown away as a whole. Words "
                + "are from the list of 7,776 that the Electronic Frontier Foundation "
                + "made for dice: each adds 12.9 bits.",
            ItemOptions.placeDiscussion, ItemOptions.passwordDiscussion,
            ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.optionalKey],
        options: ItemOptions.ofOneSecret + [
            length, alphabet, symbols, noSymbols, noAmbiguous, words, separator, print, force,
        ],
        surplusHint: "a secret is never an argument; '--length N' says how long it is",
        schema: [
            ("name", "the key; not with --print"), ("byteCount", "the size of the secret"),
            ("entropyBits", "its entropy in bits, rounded down"),
            ("value", "the secret; only with --print"),
        ],
        exitCodes: [(.alreadyThere, "the secret exists already, and stays")],
        examples: [
            ("valet generate github-token", "24 characters of every class."),
            ("valet generate wifi --words 6", "Six words to type, with hyphens between."),
            ("valet generate pin --alphabet digits --length 6", "For a bank card."),
            ("valet generate code --alphabet BCDFGHJKLMNP23456789", "From these characters alone."),
            ("valet generate --print --length 40 --symbols=-_", "Shows one, and stores nothing."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let recipe = try recipe(values)
        let hasKey = [ItemOptions.keyDescriptor, PasswordOptions.account].contains {
            values.isGiven($0)
        }
        guard !values.has(print) else {
            guard !hasKey, values[ItemOptions.optionalKey] == nil else {
                throw .usage(
                    "KEY and '--print' exclude each other",
                    hint: "'valet get KEY' shows a secret that was stored")
            }
            return try show(recipe, asJSON: values.has(ItemOptions.json), context.console)
        }
        let isNamed = PasswordOptions.naming.contains { values.isGiven($0) }
        guard hasKey || isNamed || values[ItemOptions.optionalKey] != nil else {
            throw .usage(
                "expected KEY, the name of the secret, or '--print'",
                hint: "usage: \(declaration.usage)")
        }
        let target = try ItemOptions.selection(values).target(context)
        return try store(recipe, at: target, values, context.console)
    }

    private static func store(
        _ recipe: RandomText, at target: ItemTarget, _ values: ParsedValues,
        _ console: any Console
    ) throws(CLIError) -> ExitCode {
        let value = try target.storeDeliberately(
            isAgreed: values.has(force), by: "a random secret", console, recipe.make)
        guard values.has(ItemOptions.json) else {
            console.note("valet: stored \(target.title): \(recipe.entropyBits) bits of entropy")
            return .success
        }
        console.afterEffect { () throws(CLIError) in
            try console.write(
                .object([
                    "name": .string(target.name), "byteCount": .number(value.byteCount),
                    "entropyBits": .number(recipe.entropyBits),
                ]))
        }
        return .success
    }

    private static func show(
        _ recipe: RandomText, asJSON isJSON: Bool, _ console: any Console
    ) throws(CLIError) -> ExitCode {
        let value = try recipe.make()
        guard isJSON else {
            console.note("valet: \(recipe.entropyBits) bits of entropy")
            try value.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
                try console.writeSecret(bytes)
            }
            // Readers expect a line. Nothing is stored, so the output need not equal a value.
            if !console.isOutputTerminal { try console.write("\n") }
            return .success
        }
        var text = SecretText(capacity: value.byteCount + 128)
        text.append("{\"byteCount\":\(value.byteCount),\"entropyBits\":\(recipe.entropyBits),")
        text.append("\"value\":")
        value.withBytes { text.appendJSONString($0) }
        text.append("}\n")
        try console.write(text.value())
        return .success
    }

    // MARK: - Options

    private static func recipe(_ values: ParsedValues) throws(CLIError) -> RandomText {
        guard values.isGiven(words) else {
            guard !values.isGiven(separator) else {
                throw .usage("'--separator' needs '--words'")
            }
            return try characters(values)
        }
        let others = [length, alphabet, symbols].filter { values.isGiven($0) }
        let flags = [noSymbols, noAmbiguous].filter { values.has($0) }
        if let other = (others + flags).first {
            throw .usage("'--words' and '\(other.spelling)' exclude each other")
        }
        let text = values[separator] ?? "-"
        guard text.utf8.count <= 32 else { throw .usage("'--separator' takes at most 32 bytes") }
        return .words(
            try values.number(words, in: 3...64), separator: text == "none" ? "" : text)
    }

    private static func characters(_ values: ParsedValues) throws(CLIError) -> RandomText {
        let text = values[alphabet] ?? RandomText.Alphabet.full.rawValue
        guard let named = RandomText.Alphabet(rawValue: text) else {
            return try characters(of: text, values)
        }
        var alphabet = named
        if values.has(noSymbols) {
            guard !values.isGiven(symbols), !values.isGiven(Self.alphabet) else {
                throw .usage(
                    "'--no-symbols' excludes '--symbols' and '--alphabet'")
            }
            alphabet = .alphanumeric
        }
        var classes = alphabet.classes
        if let set = values[symbols] {
            guard RandomText.areSymbols(set) else {
                throw .usage(
                    "'--symbols' does not take \(quoted(set))",
                    hint: "it takes signs of ASCII: '\(RandomText.symbols)'")
            }
            if alphabet == .full { classes.removeLast() }
            classes.append(set)
        }
        return try characters(of: classes, values)
    }

    /// - Parameter text: What '--alphabet' has: no name.
    private static func characters(
        of text: String, _ values: ParsedValues
    ) throws(CLIError) -> RandomText {
        if let other = [noSymbols, symbols].first(where: { values.isGiven($0) }) {
            throw .usage(
                "characters for '--alphabet' and '\(other.spelling)' exclude each other")
        }
        guard RandomText.areCharacters(text) else {
            let names = alphabet.choices
            throw .usage(
                "'--alphabet' does not take \(quoted(text))",
                hint: Suggestion.nearest(to: text, among: names).map { "did you mean '\($0)'?" }
                    ?? "it takes \(names.joined(separator: ", ")), or two or more characters of "
                    + "ASCII, each once, small letters in their order")
        }
        return try characters(of: [text], values)
    }

    private static func characters(
        of classes: [String], _ values: ParsedValues
    ) throws(CLIError) -> RandomText {
        var classes = classes
        if values.has(noAmbiguous) {
            classes = classes.map { $0.filter { !RandomText.ambiguous.contains($0) } }
                .filter { !$0.isEmpty }
        }
        guard let first = classes.first, classes.count > 1 || first.utf8.count > 1 else {
            throw .usage("'--alphabet' leaves fewer than two characters")
        }
        return .characters(try values.number(length, in: 4...1024), of: classes)
    }
}
