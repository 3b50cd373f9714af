// SPDX-License-Identifier: Apache-2.0

/// Reads the words after a verb: options and arguments. `CommandLineParser` uses it.
struct ArgumentScanner {
    let verb: CommandDeclaration
    private var words: ArraySlice<String>
    private(set) var values = ParsedValues()
    private var positional: [String] = []

    init(verb: CommandDeclaration, words: ArraySlice<String>) {
        self.verb = verb
        self.words = words
    }

    /// Sorts all words into ``values``. Stops at a request for help.
    mutating func scan() throws(CLIError) {
        while let word = words.popFirst() {
            if word == "--" {
                positional += words
                words = []
            } else if word.hasPrefix("--") {
                try scanOption(word)
            } else if word.hasPrefix("-"), word != "-" {
                try scanLetters(word)
            } else {
                positional.append(word)
                if verb.takesProgram {
                    positional += words
                    words = []
                }
            }
            if values.has(.help) { return }
        }
    }

    /// Assigns the words without a name to the declared arguments.
    mutating func checkArguments() throws(CLIError) {
        for (argument, word) in zip(verb.arguments, positional) {
            values.arguments[argument.name] = word
        }
        if verb.takesProgram {
            values.programWords = positional
        } else if let last = verb.arguments.last, last.isRepeatable {
            values.lists[last.name] = Array(positional.dropFirst(verb.arguments.count - 1))
        } else if positional.count > verb.arguments.count {
            if let hint = verb.surplusHint {
                let place = verb.arguments.first.map { " after \($0.name)" } ?? ""
                throw .usage("unexpected argument\(place)", hint: hint)
            }
            // The word may be a passcode.
            let isShown = !verb.options.contains { $0.name.hasSuffix("passcode-fd") }
            let word = isShown ? " " + quoted(positional[verb.arguments.count]) : ""
            throw .usage("unexpected argument\(word)", hint: "usage: \(verb.usage)")
        }
        for (argument, _) in zip(verb.arguments, positional) {
            guard let option = argument.alternative, values.isGiven(option) else { continue }
            throw .usage(
                "\(argument.name) and '\(option.spelling)' exclude each other",
                hint: verb.surplusHint)
        }
        let missing = verb.arguments.dropFirst(positional.count).first { argument in
            argument.isRequired && argument.alternative.map(values.isGiven) != true
                && !argument.dispensers.contains { values.isGiven($0) || values.has($0) }
        }
        if let missing {
            throw .usage(
                "expected \(missing.name), \(missing.help)", hint: "usage: \(verb.usage)")
        }
    }

    private mutating func scanOption(_ word: String) throws(CLIError) {
        let name = String(word.prefix { $0 != "=" })
        let attached = word.firstIndex(of: "=").map { String(word[word.index(after: $0)...]) }
        guard let option = verb.allOptions.first(where: { $0.spelling == name }) else {
            throw unknown(name)
        }
        guard let valueName = option.valueName else {
            guard attached == nil else { throw .usage("'\(name)' takes no value") }
            values.flags.insert(option.name)
            return
        }
        guard option.isRepeatable || values.options[option.name] == nil else {
            throw .usage("'\(name)' is given twice")
        }
        guard let value = attached ?? followingValue() else {
            throw .usage("'\(name)' needs a value", hint: "write '\(name)=\(valueName)'")
        }
        try check(value, for: option)
        values.options[option.name] = value
        if option.isRepeatable { values.lists[option.name, default: []].append(value) }
    }

    /// The next word, unless it is an option.
    private mutating func followingValue() -> String? {
        guard let next = words.first, next == "-" || !next.hasPrefix("-") else { return nil }
        return words.popFirst()
    }

    private mutating func scanLetters(_ word: String) throws(CLIError) {
        for letter in word.dropFirst() {
            let flag = verb.allOptions.first { $0.letter == letter && $0.valueName == nil }
            guard let flag else { throw unknown(word) }
            values.flags.insert(flag.name)
        }
    }

    private func check(_ value: String, for option: OptionDeclaration) throws(CLIError) {
        if value.isEmpty { throw .usage("the value of '\(option.spelling)' is empty") }
        guard !option.choices.isEmpty, !option.takesOthers, !option.choices.contains(value)
        else { return }
        let nearest = Suggestion.nearest(to: value, among: option.choices)
        throw .usage(
            "'\(option.spelling)' does not take \(quoted(value))",
            hint: nearest.map { "did you mean '\($0)'?" }
                ?? "it takes \(option.choices.joined(separator: ", "))")
    }

    private func unknown(_ name: String) -> CLIError {
        let nearest = Suggestion.nearest(to: name, among: verb.allOptions.map(\.spelling))
        let list = "'valet \(verb.name) --help' lists the options"
        let words = verb.arguments.first.map {
            "; put '--' before a \($0.name) that starts with a hyphen"
        }
        return .usage(
            "unknown option \(quoted(name))",
            hint: VerbAdvice.text(forOption: name, of: verb)
                ?? nearest.map { "did you mean '\($0)'?" } ?? list + (words ?? ""))
    }
}
