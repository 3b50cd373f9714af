// SPDX-License-Identifier: Apache-2.0

/// `valet sync` becomes the program `valet-sync`, which declares its verbs and carries them out, so
/// that `valet` need not link what talks to a network.
enum SyncCommand {
    static let declaration = CommandDeclaration(
        name: "sync", abstract: "share iCloud valets between your devices",
        examples: [("valet sync --help", "Lists its verbs.")])

    private static let program = "valet-sync"

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        throw missing
    }

    /// Lets `valet-sync` take over a command line that is for it, or that asks for its help.
    ///
    /// - Throws: ``ExitCode/failure`` if it is not installed.
    static func handOver(_ arguments: [String?], in context: Context) throws(CLIError) {
        let name = declaration.name
        let place = arguments.firstIndex { $0 == name }
        guard let place, place == 0 || arguments.prefix(place) == ["help"] else { return }
        // The first word is the name of this program.
        Terminal.become(program: program, without: [0, place + 1], like: context.console)
        throw missing
    }

    /// Lets the program answer a shell that completes one of its verbs, if it is installed.
    static func handOverCompletion(like console: any Console) {
        Terminal.become(program: program, without: [0], like: console)
    }

    private static var missing: CLIError {
        CLIError(
            .failure, "the program '\(program)' is not installed",
            hint: "it belongs beside 'valet', or into /usr/libexec/valet")
    }
}
