// SPDX-License-Identifier: Apache-2.0

/// What to do today for verbs that people know from elsewhere and that do not exist here. The
/// parser shows it in place of a verb with a similar name, which would do something else.
enum VerbAdvice {
    private static let copying =
        "'valet get OLD | valet set NEW' copies a secret, byte for byte"
    private static let moving =
        copying + "; 'valet remove OLD' then removes the old one. 'valet set KEY' with --cloud, "
        + "--local or --accessibility moves one as it replaces it"
    private static let beginning =
        "there is nothing to set up: 'valet set KEY' stores a secret, and creates the keychain "
        + "with the first one"
    private static let changing = "'valet set KEY' replaces the secret of that name"
    private static let generating = "'openssl rand -base64 32 | valet set KEY --trim-newline'"

    private static let advice: [String: String] = [
        "cp": copying, "copy": copying, "duplicate": copying, "clone": copying,
        "mv": moving, "move": moving, "rename": moving,
        "init": beginning, "setup": beginning, "new": beginning, "start": beginning,
        "create": beginning + "; see also 'valet backup create' and 'valet recovery create'",
        "edit": changing, "update": changing, "change": changing, "replace": changing,
        "generate": generating, "gen": generating,
    ]

    /// The replacement for the verb `word`; nil if none is known.
    static func text(for word: String) -> String? { advice[word] }
}
