// SPDX-License-Identifier: Apache-2.0

/// What a command line asks for.
enum ParsedCommandLine: Hashable, Sendable {
    /// The help of a verb or of a group; nil for that of the whole command.
    case help(verb: String?)
    case version
    case run(verb: String, ParsedValues)
}

/// The values of one command line, by the declarations they belong to.
struct ParsedValues: Hashable, Sendable {
    var arguments: [String: String] = [:]
    var options: [String: String] = [:]
    var flags: Set<String> = []

    /// The value given for an argument; nil when there was none.
    subscript(argument: ArgumentDeclaration) -> String? { arguments[argument.name] }

    /// The value given for an option, or its default.
    subscript(option: OptionDeclaration) -> String? {
        options[option.name] ?? option.defaultValue
    }

    /// Whether a flag was given.
    func has(_ flag: OptionDeclaration) -> Bool { flags.contains(flag.name) }

    /// Whether an option was given a value.
    func isGiven(_ option: OptionDeclaration) -> Bool { options[option.name] != nil }
}
