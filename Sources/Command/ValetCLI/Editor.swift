// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem
internal import ValetUserPresence

/// The user's editor, with arguments that keep it from leaving copies.
struct Editor {
    /// The editor, or a shell if the user's command is more than plain words.
    let path: String
    private let words: [String]

    static func chosen() throws(CLIError) -> Editor {
        let environment = Environment.ofProcess
        let wish = environment.text("VISUAL") ?? environment.text("EDITOR")
        let command = wish ?? (environment.program("editor") == nil ? "vi" : "editor")
        let isPlain = command.utf8.allSatisfy { byte in
            let letter = Character(Unicode.Scalar(byte))
            return byte < 0x80
                && (letter.isLetter || letter.isNumber || "/._-+=, ".contains(letter))
        }
        let words = command.split(separator: " ").map(String.init)
        guard isPlain, let first = words.first else {
            return Editor(path: "/bin/sh", words: ["-c", command + " \"$@\"", command])
        }
        guard let path = environment.program(first) else {
            throw CLIError(
                .noSuchProgram, "there is no editor \(quoted(first))",
                hint: "$VISUAL or $EDITOR names one")
        }
        return Editor(path: path, words: Array(words.dropFirst()))
    }

    func arguments(for file: String) -> [String] {
        // `vi` and `editor` are links.
        let resolved = FilePath.resolved(path) ?? path
        let name = resolved.split(separator: "/").last.map(String.init) ?? ""
        var quiet: [String] = []
        if name.hasPrefix("vim") || name.hasPrefix("nvim") {
            quiet = [
                "-n", "-i", "NONE", "-c",
                "silent! set nobackup nowritebackup noundofile noswapfile",
            ]
        } else if name.hasPrefix("emacs"), !name.hasPrefix("emacsclient") {
            quiet = ["--eval", "(setq make-backup-files nil auto-save-default nil)"]
        }
        return words + quiet + [file]
    }
}
