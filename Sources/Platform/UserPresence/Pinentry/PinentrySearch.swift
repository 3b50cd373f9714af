// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// Finds the user's pinentry program, from the environment and gpg-agent's configuration.
struct PinentrySearch {
    /// Names that Debian and others install, in order of preference.
    static let knownNames = [
        "pinentry", "pinentry-gnome3", "pinentry-qt", "pinentry-gtk-2", "pinentry-curses",
        "pinentry-tty",
    ]

    let environment: Environment
    let isProgram: (String) -> Bool
    /// The text of a small file; `nil` if it cannot be read.
    let contents: (String) -> String?

    /// The path of the program; `nil` if none was found.
    ///
    /// `VALET_PINENTRY` (a path, or a name on `PATH`), else `pinentry-program` of gpg-agent, else
    /// the first known name on `PATH`. Relative folders and paths are never used.
    ///
    /// - Throws: `pinentryUnusable` if `VALET_PINENTRY` leads to no program: an explicit
    ///   choice is never replaced; `elevated` in a process with more rights than its
    ///   caller.
    func program() throws(SystemError) -> String? {
        guard !environment.isElevated else { throw SystemError.asking(.elevated) }
        if let choice = value("VALET_PINENTRY") {
            if let path = path(of: choice) { return path }
            throw SystemError.asking(
                .pinentryUnusable, during: "find the pinentry program",
                hint: "VALET_PINENTRY must be the absolute path of a program, or its name")
        }
        if let choice = choiceOfAgent(), isProgram(choice) { return choice }
        for name in Self.knownNames {
            if let path = path(of: name) { return path }
        }
        return nil
    }

    private func value(_ name: String) -> String? {
        guard let value = environment.value(name), !value.isEmpty else { return nil }
        return value
    }

    private func path(of program: String) -> String? {
        if program.contains("/") {
            return program.hasPrefix("/") && isProgram(program) ? program : nil
        }
        let folders = (value("PATH") ?? ChildEnvironment.path).split(separator: ":")
        return folders.lazy.filter { $0.hasPrefix("/") }.map { $0 + "/" + program }
            .first(where: isProgram)
    }

    private func choiceOfAgent() -> String? {
        let folder = value("GNUPGHOME") ?? value("HOME").map { $0 + "/.gnupg" }
        guard let folder, folder.hasPrefix("/") else { return nil }
        return contents(folder + "/gpg-agent.conf").flatMap(Self.program(inConfiguration:))
    }

    /// The `pinentry-program` of a gpg-agent.conf: its last one, if it is an absolute path.
    static func program(inConfiguration text: String) -> String? {
        var choice: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split(
                maxSplits: 1, omittingEmptySubsequences: true, whereSeparator: \.isWhitespace)
            guard words.count == 2, ["pinentry-program", "--pinentry-program"].contains(words[0])
            else { continue }
            choice = unquoted(words[1])
        }
        return choice?.hasPrefix("/") == true ? choice : nil
    }

    private static func unquoted(_ value: Substring) -> String {
        let text = value.reversed().drop(while: \.isWhitespace).reversed()
        guard text.count >= 2, text.first == "\"", text.last == "\"" else { return String(text) }
        return String(text.dropFirst().dropLast())
    }
}
