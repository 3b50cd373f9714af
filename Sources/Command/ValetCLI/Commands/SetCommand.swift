// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

/// `valet set KEY`.
enum SetCommand {
    /// The largest value that a keychain takes: 16 MiB.
    static let maximumByteCount = 16 << 20

    static let trimNewline = OptionDeclaration(
        name: "trim-newline",
        help: "drop one line end at the end of standard input, and the byte order mark of a text "
            + "file at its start")
    static let ifAbsent = OptionDeclaration(
        name: "if-absent", help: "fail if the secret exists already, and keep it")
    static let yes = OptionDeclaration(
        name: "yes", letter: "y", help: "do not ask before a secret is replaced")
    static let visible = OptionDeclaration(
        name: "visible", help: "with --field: 'valet show' writes the field")
    static let note = OptionDeclaration(
        name: "note", valueName: "TEXT",
        help: "a comment that 'valet show' writes; for one that is secret: --field note")
    static let url = OptionDeclaration(
        name: "url", valueName: "URL", help: "the address that the secret is for, as a field")
    static let username = OptionDeclaration(
        name: "username", valueName: "NAME", help: "the user name that it belongs to, as a field")

    static let declaration = CommandDeclaration(
        name: "set", abstract: "store a secret",
        synonyms: ["add", "insert", "store", "put", "save", "write"],
        discussion: [
            "Stores the exact bytes of standard input, at most 16 MiB, under KEY. Replaces an "
                + "existing secret where it is; 'valet undo KEY' takes that back. If "
                + "--accessibility, --cloud or --local say otherwise, moves it there in the same "
                + "step, and says so. --if-absent never replaces one, even if several programs "
                + "set the same name at once.",
            "At a terminal, asks before it replaces a secret, then asks for the new secret twice, "
                + "without echo. A typed secret has one line: use standard input for several.",
            "A password for --server is that of the port and protocol that are given. If they are "
                + "not, it may be any login of the account there, if there is one alone, and the "
                + "answer names a port, path or protocol that it has.",
            "A secret is never read from the command line or the environment, which other "
                + "programs can see. An empty secret is refused, because empty input usually means "
                + "that the program before the pipe failed.",
            FieldName.discussion + " --field sets one field of a secret that exists, and nothing "
                + "else.",
            ItemOptions.placeDiscussion, ItemOptions.passwordDiscussion,
            ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key],
        options: ItemOptions.ofOneSecret + [
            FieldName.option, visible, note, username, url, trimNewline, ifAbsent, yes,
        ],
        surplusHint: "a secret is never an argument: type it when asked, or pipe it in; your "
            + "shell may have saved the one you have just typed",
        schema: [
            ("name", "the key"), ("byteCount", "how many bytes were stored"),
            ("moved", "true if the secret had another accessibility, or was shared or not"),
        ],
        exitCodes: [
            (.usage, "wrong usage, an empty or too large secret, or nobody can be asked"),
            (.alreadyThere, "with --if-absent: the secret exists already, and stays"),
        ],
        examples: [
            ("valet set github-token", "Asks for the token."),
            ("valet set github-token --field username", "Asks for a field of it."),
            (
                "openssl rand -base64 32 | valet set db-password --trim-newline",
                "Generates a password."
            ),
            (
                "openssl rand 32 | valet set signing-key --if-absent",
                "Stores a key only if there is none."
            ),
            ("valet set tls-key --app com.example.server < key.pem", "For another program."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        if context.console.isInputTerminal, let refusal = context.console.refusalToAsk {
            throw .usage(
                "cannot ask for the secret: \(refusal)",
                hint: "use standard input: 'valet set KEY < FILE'")
        }
        if let field = try FieldName.given(values) { return try set(field, values, context) }
        let details = try details(values)
        let target = try ItemOptions.selection(values).target(context)
        let isOnlyIfAbsent = values.has(ifAbsent)
        // Asks about replacing before the user types a secret.
        if context.console.isInputTerminal {
            try target.askAboutReplacing(
                isOnlyIfAbsent: isOnlyIfAbsent, isAgreed: values.has(yes), context.console)
        }
        let input = try readInput(for: target, context.console)
        let value = values.has(trimNewline) ? input.withoutTextMarks : input
        guard value.byteCount > 0 else {
            throw .usage(
                "the secret is empty",
                hint: "'valet remove' removes a secret")
        }
        let stored = try target.store(value, details, ifAbsent: isOnlyIfAbsent)
        target.noteChange(stored, context.console)
        target.noteIfTooLargeToTravel(value, stored, context.console)
        report(target, value, wasMoved: stored.origin != nil, values, context.console)
        if !context.console.isInputTerminal {
            hintAtTextMarks(of: value, values.has(trimNewline), context.console)
        }
        return .success
    }

    /// What the command line sets beside the value.
    private static func details(_ values: ParsedValues) throws(CLIError) -> SecretDetails {
        guard !values.has(visible) else { throw .usage("'--visible' needs '--field'") }
        if values.isGiven(username), PasswordOptions.all.contains(where: values.isChosen) {
            throw .usage("the user name of a password is KEY: leave out '--username'")
        }
        if values.isGiven(url), values.isGiven(PasswordOptions.server) {
            throw .usage("'--server' is the address of the password: leave out '--url'")
        }
        return try SecretDetails(
            note: values[note], username: values[username], url: values[url])
    }

    /// Writes what was stored, if the command line asks for JSON.
    static func report(
        _ target: ItemTarget, _ value: SecretValue, wasMoved: Bool, _ values: ParsedValues,
        _ console: any Console
    ) {
        guard values.has(ItemOptions.json) else { return }
        console.afterEffect { () throws(CLIError) in
            try console.write(
                .object([
                    "name": .string(target.name), "byteCount": .number(value.byteCount),
                    "moved": .flag(wasMoved),
                ]))
        }
    }

    /// Names the marks that an editor may have added to the secret.
    private static func hintAtTextMarks(
        of value: SecretValue, _ trimsNewline: Bool, _ console: any Console
    ) {
        if value.isWideText {
            console.note("valet: warning: the secret begins as UTF-16 text does")
            console.hint("programs expect UTF-8: convert it with 'iconv -f UTF-16 -t UTF-8'")
        } else if !trimsNewline, let marks = value.textMarks {
            // Compares words: searching for a substring would link Swift's regular expressions.
            let areSeveral = marks.split(separator: " ").contains("and")
            let verb = areSeveral ? "were" : "was"
            console.hint(
                "\(marks) \(verb) stored too: '--trim-newline' drops \(areSeveral ? "them" : "it")")
        }
    }

    private static func readInput(
        for target: ItemTarget, _ console: any Console
    ) throws(CLIError) -> SecretValue {
        if console.isInputTerminal {
            return try console.askTwice("Secret for \(target.title)")
        }
        let input = try console.readInput(atMost: maximumByteCount)
        guard SpareMemory.has(4, copiesOf: input.byteCount) else {
            throw CLIError(.failure, "out of memory")
        }
        return input
    }
}

extension ItemTarget {
    /// Stores `value`, in place of an existing one.
    ///
    /// - Throws: ``ExitCode/alreadyThere`` if there is one and `isOnlyIfAbsent`.
    func store(
        _ value: SecretValue, _ details: SecretDetails = SecretDetails(),
        ifAbsent isOnlyIfAbsent: Bool
    ) throws(CLIError) -> StoredSecret {
        switch form {
        case .secret: try storeSecret(value, details, ifAbsent: isOnlyIfAbsent)
        case .password(let search):
            try storePassword(value, details, search, ifAbsent: isOnlyIfAbsent)
        }
    }

    /// Says that an item was moved, if it was, and which one was changed, if the command line does
    /// not say that; of a new secret, which logins are known by its name.
    func noteChange(_ stored: StoredSecret, _ console: any Console) {
        guard let old = stored.old else { return noteLogins(console) }
        let target = target(of: old)
        guard let origin = stored.origin else {
            if target.title != title { console.note("valet: changed \(target.title)") }
            return
        }
        console.note(
            "valet: moved \(target.title): it was \(origin.keeping), and is "
                + stored.item.keeping)
        keychain.noteFormerValues(of: [(origin, stored.item)])
    }

    /// Asks before an existing secret is replaced.
    ///
    /// - Throws: ``ExitCode/alreadyThere`` if it may not be replaced; ``ExitCode/denied`` if the
    ///   user declines.
    fileprivate func askAboutReplacing(
        isOnlyIfAbsent: Bool, isAgreed: Bool, _ console: any Console
    ) throws(CLIError) {
        var asked = self
        var places: (old: String, new: String)?
        switch form {
        case .secret: places = try foreseen().map { ($0.old.place, $0.new.place) }
        case .password(let search):
            do {
                if let (old, new) = try foreseenPassword(search) {
                    asked = target(of: old.asNew)
                    places = (old.asNew.keeping, new.keeping)
                }
            } catch {
                // A new value takes the place of a damaged one.
                guard error.isOfDamagedItem else { throw error }
                places = ("", "")
            }
        }
        guard let (old, new) = places else { return }
        guard !isOnlyIfAbsent else { throw asked.alreadyThere }
        var question = "Replace \(asked.title) in \(place)"
        if new != old { question += ", and move it from \(old) to \(new)" }
        try console.requireConsent(to: question + "?", isGiven: isAgreed)
    }

    /// Warns about a secret that sync does not send.
    func noteIfTooLargeToTravel(
        _ value: SecretValue, _ stored: StoredSecret, _ console: any Console
    ) {
        guard stored.item.isSynchronizable,
            stored.item.isTooLargeToTravel(valueByteCount: value.byteCount)
        else { return }
        console.note(
            "valet: warning: the secret is too large to be sent to other devices, and stays on "
                + "this one")
        console.hint("secrets of up to 190 KiB are sent")
    }
}

/// Marks that a text editor adds to a secret.
enum TextMark {
    static let newline = UInt8(ascii: "\n")
    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Whether text begins with a byte order mark.
    static func isAtStart(of bytes: Span<UInt8>) -> Bool {
        bytes.count >= byteOrderMark.count
            && byteOrderMark.indices.allSatisfy { bytes[$0] == byteOrderMark[$0] }
    }

    /// The byte count of the line end: 0, 1, or 2 for that of a Windows file.
    static func endByteCount(of bytes: Span<UInt8>) -> Int {
        guard !bytes.isEmpty, bytes[bytes.count - 1] == newline else { return 0 }
        return bytes.count > 1 && bytes[bytes.count - 2] == UInt8(ascii: "\r") ? 2 : 1
    }

    /// Whether bytes begin with the mark of UTF-16.
    static func isWide(_ bytes: Span<UInt8>) -> Bool {
        bytes.count > 1
            && ((bytes[0] == 0xFF && bytes[1] == 0xFE) || (bytes[0] == 0xFE && bytes[1] == 0xFF))
    }
}

extension SecretValue {
    /// The value without one line end at its end, and without a byte order mark at its start.
    var withoutTextMarks: SecretValue {
        withBytes { bytes in
            let start = TextMark.isAtStart(of: bytes) ? TextMark.byteOrderMark.count : 0
            let end = max(start, bytes.count - TextMark.endByteCount(of: bytes))
            guard start > 0 || end < bytes.count else { return self }
            return SecretValue(copying: bytes.extracting(start..<end))
        }
    }

    /// The marks that an editor has added to one line of text, in words; nil for other values.
    fileprivate var textMarks: String? {
        withBytes { bytes in
            let start = TextMark.isAtStart(of: bytes) ? TextMark.byteOrderMark.count : 0
            let end = max(start, bytes.count - TextMark.endByteCount(of: bytes))
            let text = bytes.extracting(start..<end)
            guard !text.isEmpty, start > 0 || end < bytes.count, TerminalText.isShowable(text),
                !text.indices.contains(where: { text[$0] == TextMark.newline })
            else { return nil }
            let ends = ["", "the newline", "the carriage return and newline"]
            return [
                start > 0 ? "the byte order mark at the start" : "",
                end < bytes.count ? ends[bytes.count - end] + " at the end" : "",
            ].filter { !$0.isEmpty }.joined(separator: " and ")
        }
    }

    /// Whether a line end comes before other bytes.
    var hasSeveralLines: Bool {
        withBytes { bytes in
            let end = bytes.count - TextMark.endByteCount(of: bytes)
            return (0..<end).contains { bytes[$0] == TextMark.newline }
        }
    }

    /// Whether this looks like text in UTF-16.
    fileprivate var isWideText: Bool { withBytes(TextMark.isWide) }
}
