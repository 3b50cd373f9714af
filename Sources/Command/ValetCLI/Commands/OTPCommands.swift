// SPDX-License-Identifier: Apache-2.0

// The verbs `otp` and `otp add`: one-time codes as a second factor.

internal import ValetKeychainModel
internal import ValetKeychainStore
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
            "A secret that has a field 'otp' makes the codes of that, and else those of its value; "
                + "--field chooses another field.",
            ItemOptions.placeDiscussion, ItemOptions.passwordDiscussion,
            ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key], options: ItemOptions.ofOneSecret + [FieldName.option],
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

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let target = try ItemOptions.selection(values).existing(context)
        let isJSON = values.has(ItemOptions.json)
        let code = try OneTimeCode(
            of: target, FieldName.given(values), at: context.clock() / 1_000_000_000)
        if !isJSON { context.console.note("valet: \(code.remark)") }
        do {
            try show(code.text, isJSON ? members(target, code) : nil, context.console)
        } catch {
            throw code.wasUsedUp(error)
        }
        return .success
    }

    private static func members(_ target: ItemTarget, _ code: OneTimeCode) -> String {
        let json = JSON.object([
            "name": .string(target.name), "type": .string(code.counter == nil ? "totp" : "hotp"),
            "period": .number(code.time?.period), "secondsLeft": .number(code.time?.left),
            "counter": .number(code.counter),
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
            "If KEY is a secret already that is no such key, as a password, the key becomes its "
                + "field 'otp': 'valet get KEY' still writes the password, and 'valet otp KEY' "
                + "shows the code.",
            ItemOptions.placeDiscussion, ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key],
        options: ItemOptions.ofOneSecret + [
            FieldName.option, algorithm, digits, period, counter, force,
        ],
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
        let read = { () throws(CLIError) -> SecretValue in
            let input =
                console.isInputTerminal
                ? try console.askTwice("URI or key for \(target.title)")
                : try console.readInput(atMost: OneTimePassword.maximumByteCount)
            return try checked(input.withoutTextMarks.trimmed, target, values)
        }
        let field = try FieldName.given(values)
        let value: SecretValue
        var place = field
        if place == nil { place = try target.fieldForCodes() }
        if let place {
            value = try target.storeDeliberately(
                in: place, isAgreed: values.has(force), by: "another key", console, read)
        } else {
            value = try target.storeDeliberately(
                isAgreed: values.has(force), by: "another key", console, read)
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

extension ItemTarget {
    /// Where the key of codes goes: the field `otp` of a secret that is there for something else;
    /// nil for the value of a new secret, or of one that makes codes.
    fileprivate func fieldForCodes() throws(CLIError) -> FieldName? {
        // One that requires the user has no fields.
        guard let item = try detailsIfAny(), item.accessControl == nil else { return nil }
        guard let value = try current()?.value else { return .otp }
        // Many passwords are also base32; what 'otp add' has stored is a URI.
        return OneTimePassword.hasURI(value) ? nil : .otp
    }
}
