// SPDX-License-Identifier: Apache-2.0

// The verbs `otp` and `otp add`: one-time codes as a second factor.

internal import ValetSealing

/// `valet otp KEY`.
enum OTPCommand {
    static let declaration = CommandDeclaration(
        name: "otp", abstract: "show the current one-time code of a secret",
        synonyms: ["totp", "hotp", "2fa", "mfa", "code"],
        discussion: [
            "Shows the code that a website asks for beside a password. The secret is an "
                + "otpauth:// URI, as in the website's QR code, or the key alone in base32: 'valet "
                + "otp add KEY' stores one. Codes of time (TOTP, RFC 6238) and of a counter "
                + "(HOTP, RFC 4226) have 6 to 10 digits by SHA-1, SHA-256 or SHA-512. Those of "
                + "Steam follow no standard, and are refused.",
            "Says on standard error for how many seconds the code is valid. A counter is stored "
                + "anew before its code is shown: no code is shown twice, even to two programs at "
                + "once.",
            "Whoever has the code's key can make all codes. If the password is in the same "
                + "keychain, one passcode opens both factors.",
            ItemOptions.placeDiscussion, ItemOptions.passwordDiscussion,
            ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key], options: ItemOptions.ofOneSecret,
        schema: [
            ("name", "the key"), ("type", "\"totp\" or \"hotp\""), ("code", "the code, a text"),
            ("period", "for how many seconds each code is valid; null for a counter"),
            ("secondsLeft", "how many of them are left; null for a counter"),
            ("counter", "the counter of this code; null for a code of time"),
        ],
        exitCodes: [
            (.failure, "failure, as when a code of a counter is used up but cannot be written"),
            (.notFound, ExitCode.notFound.explanation),
            (.damaged, "the secret makes no one-time codes, or is damaged"),
        ],
        examples: [
            ("valet otp github", "Shows the code, and how long it is valid."),
            ("valet otp add github", "Asks for the otpauth:// URI, and stores it."),
        ])

    /// How many times to try: another program may use the same counter at the same time.
    private static let tryCount = 20

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let target = try ItemOptions.selection(values).existing(context)
        let time = context.clock() / 1_000_000_000
        let isJSON = values.has(ItemOptions.json)
        let stored = try target.value()
        let password = try OneTimePassword(stored)
        switch password.factor {
        case .time(let period):
            let code = try password.code(at: time)
            let left = period - max(0, time) % period
            if !isJSON { context.console.note("valet: \(left) s left") }
            try show(
                code, isJSON ? members(target, "totp", (period, left), nil) : nil, context.console)
        case .counter:
            let (code, counter) = try nextCode(of: target)
            if !isJSON { context.console.note("valet: counter \(counter)") }
            do {
                try show(
                    code, isJSON ? members(target, "hotp", nil, counter) : nil, context.console)
            } catch {
                // Reported even if the reader has closed the pipe: nobody has seen the code.
                throw CLIError(
                    .failure, "the code of counter \(counter) is used up: \(error.message)",
                    hint: "'valet otp KEY' shows the next one")
            }
        }
        return .success
    }

    /// The code of the next counter, once the one after it is stored.
    private static func nextCode(
        of target: ItemTarget
    ) throws(CLIError) -> (code: SecretValue, counter: UInt64) {
        for _ in 0..<tryCount {
            guard let (item, value) = try target.current() else { break }
            let password = try OneTimePassword(value)
            guard case .counter(let counter) = password.factor else { break }
            let code = try password.code(at: 0)
            let next = try OneTimePassword.setting(counter: counter + 1, in: value)
            // In the history, former counters would push out replaced keys, and `undo` would show a
            // code for a second time.
            if try target.replace(item, with: next, keepingHistory: false) {
                return (code, counter)
            }
        }
        throw CLIError(
            .locked, "other programs change \(target.title) all the time: no code was used up")
    }

    private static func members(
        _ target: ItemTarget, _ type: String, _ time: (period: Int64, left: Int64)?,
        _ counter: UInt64?
    ) -> String {
        let json = JSON.object([
            "name": .string(target.name), "type": .string(type), "period": .number(time?.period),
            "secondsLeft": .number(time?.left), "counter": .number(counter),
        ])
        return json.encoded
    }

    /// Writes the code alone, or as a member of a JSON object.
    private static func show(
        _ code: SecretValue, _ members: String?, _ console: any Console
    ) throws(CLIError) {
        guard let members else {
            return try code.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
                try console.writeSecret(bytes)
            }
        }
        var text = SecretText()
        text.append(String(members.dropLast()) + ",\"code\":")
        code.withBytes { text.appendJSONString($0) }
        text.append("}\n")
        try console.write(text.value())
    }
}

/// `valet otp add KEY`.
enum OTPAddCommand {
    private static let algorithm = OptionDeclaration(
        name: "algorithm", valueName: "HASH", help: "the hash for a key in base32",
        defaultValue: "SHA1", choices: HMAC.allCases.map(OneTimePassword.word))
    private static let digits = OptionDeclaration(
        name: "digits", valueName: "N", help: "how many digits its codes have, 6 to 10",
        defaultValue: "6")
    private static let period = OptionDeclaration(
        name: "period", valueName: "SECONDS", help: "for how many seconds they are valid",
        defaultValue: "30")
    private static let counter = OptionDeclaration(
        name: "counter", valueName: "N",
        help: "the next counter, for codes of a counter instead of time")
    private static let force = OptionDeclaration(
        name: "force", letter: "f", help: "replace a secret that exists")

    static let declaration = CommandDeclaration(
        name: "otp add", abstract: "store the key of one-time codes",
        discussion: [
            "Reads an otpauth:// URI, or a key in base32, from standard input or a prompt; checks "
                + "it, and stores it under KEY. A URI is stored as it is, with all that its issuer "
                + "wrote. A key becomes a URI with the parameters of the options. It may be in "
                + "small letters, in groups, and with padding.",
            "A website shows the URI as a QR code: 'zbarimg -q --raw code.png | valet otp add "
                + "KEY' reads a picture of one.",
            ItemOptions.placeDiscussion, ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key],
        options: ItemOptions.ofOneSecret + [algorithm, digits, period, counter, force],
        surplusHint: "the URI is never an argument: type it when asked, or pipe it in; your shell "
            + "may have saved the one you have just typed",
        schema: [("name", "the key"), ("byteCount", "how many bytes were stored")],
        exitCodes: [
            (.damaged, "the text is no otpauth:// URI and no key in base32"),
            (.alreadyThere, "the secret exists already, and stays"),
        ],
        examples: [
            ("valet otp add github", "Asks for the URI, or for the key that the website shows."),
            ("valet otp add bank --digits 8 --algorithm SHA256 < key.txt", "A key in base32."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let console = context.console
        if console.isInputTerminal, let refusal = console.refusalToAsk {
            throw .usage("cannot ask for the URI: \(refusal)", hint: "use standard input")
        }
        let target = try ItemOptions.selection(values).target(context)
        let value = try target.storeDeliberately(
            isAgreed: values.has(force), by: "another key", console
        ) { () throws(CLIError) in
            let input =
                console.isInputTerminal
                ? try console.askTwice("URI or key for \(target.title)")
                : try console.readInput(atMost: OneTimePassword.maximumByteCount)
            return try checked(input.withoutTextMarks.trimmed, target, values)
        }
        console.afterEffect { () throws(CLIError) in
            guard values.has(ItemOptions.json) else {
                return console.note("valet: stored \(target.title): \(try summary(value))")
            }
            try console.write(
                .object([
                    "name": .string(target.name), "byteCount": .number(value.byteCount),
                ]))
        }
        return .success
    }

    /// The URI to store.
    private static func checked(
        _ input: SecretValue, _ target: ItemTarget, _ values: ParsedValues
    ) throws(CLIError) -> SecretValue {
        let given = [algorithm, digits, period, counter].first { values.isGiven($0) }
        guard input.byteCount > 0 else { throw .usage("the URI is empty") }
        let read = try OneTimePassword(input)
        guard read.isBare else {
            if let given {
                throw .usage(
                    "'\(given.spelling)' is for a key in base32: a URI says by itself what holds")
            }
            return input
        }
        var factor = OneTimePassword.Factor.time(
            period: try values.number(period, in: OneTimePassword.periods))
        if values.isGiven(counter) {
            guard !values.isGiven(period) else {
                throw .usage("'--counter' and '--period' exclude each other")
            }
            factor = .counter(try values.number(counter, in: OneTimePassword.counters))
        }
        let password = try OneTimePassword(
            base32: input, values[algorithm].flatMap(OneTimePassword.hash) ?? .sha1,
            digitCount: try values.number(digits, in: OneTimePassword.digitCounts), factor)
        return password.uri(label: target.name)
    }

    private static func summary(_ value: SecretValue) throws(CLIError) -> String {
        let password = try OneTimePassword(value)
        let rest =
            switch password.factor {
            case .time(let period): "\(period) s each"
            case .counter(let counter): "next counter \(counter)"
            }
        return "\(password.digitCount) digits by \(OneTimePassword.word(password.hash)), \(rest)"
    }
}
