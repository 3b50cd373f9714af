// SPDX-License-Identifier: Apache-2.0

// What a command line with an unknown word probably means: the parser's hints.

/// Finds the word that a mistyped word stands for.
enum Suggestion {
    /// The candidate that is most similar to `word`, the first of equals; nil if none is similar.
    static func nearest(to word: String, among candidates: [String]) -> String? {
        // A key pasted as a verb may be long, and is similar to none of our words.
        guard word.utf8.count <= 64 else { return nil }
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let isStart = word.count >= 3 && candidate.hasPrefix(word)
            let distance = isStart ? 0 : distance(Array(word), Array(candidate))
            // Only a few edits count: the verb that looks like a short word may do something else.
            if distance <= max(1, candidate.count / 4), distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.candidate
    }

    /// The number of edits from one word to the other: insert, drop or replace a character, or swap
    /// two neighbours.
    static func distance(_ first: [Character], _ second: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...second.count)
        for row in first.indices {
            var current = [row + 1]
            for column in second.indices {
                let isEqual = first[row] == second[column]
                var cost = min(
                    last[column] + (isEqual ? 0 : 1), last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, first[row] == second[column - 1],
                    first[row - 1] == second[column]
                {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[second.count]
    }
}

/// Advice for verbs of other tools that are no verbs here. The parser shows it instead of a verb
/// with a similar name, which would do something else.
enum VerbAdvice {
    private static let copying =
        "'valet copy-to OLD --to-key NEW' copies a secret, 'valet copy KEY' puts it onto the "
        + "clipboard"
    private static let beginning =
        "there is nothing to set up: 'valet set KEY' stores a secret, and creates the keychain "
        + "with the first one"
    private static let changing = "'valet set KEY' replaces the secret of that name"
    private static let storing =
        "'valet set ACCOUNT --service NAME', or '--server HOST', stores a password; 'valet set "
        + "KEY' a secret"
    private static let finding =
        "'valet get ACCOUNT --service NAME', or '--server HOST', writes a password; 'valet show' "
        + "the rest"
    private static let removing =
        "'valet remove ACCOUNT --service NAME', or '--server HOST', removes a password"
    private static let oneKeychain =
        "there is one keychain, which 'valet status' shows; --app and --id choose a part of it"
    private static let noAccount =
        "there is no account to sign in to: 'valet status' shows the keychain, 'valet unlock' "
        + "opens it"

    private static let verbs = "'valet list', 'get', 'set', 'show' and 'remove' do that"
    private static let fields =
        "'valet show KEY' lists the fields of a secret, 'valet get KEY --field NAME' writes one, "
        + "'valet set KEY --field NAME' sets one"
    private static let locking = "'valet lock' locks the keychain"

    private static let clipboard = "'valet copy KEY' puts a secret onto the clipboard"

    static let advice: [String: String] = [
        "cp": copying, "duplicate": copying, "clone": copying, "link": copying,
        "init": beginning, "setup": beginning, "new": beginning, "start": beginning,
        "create": beginning + "; see also 'valet backup create' and 'valet recovery create'",
        "update": changing, "change": changing, "replace": changing,
        // macOS's security, and secret-tool.
        "add-generic-password": storing, "add-internet-password": storing,
        "find-generic-password": finding, "find-internet-password": finding, "lookup": finding,
        "delete-generic-password": removing, "delete-internet-password": removing,
        "clear": removing,
        "dump-keychain": "'valet list --all' shows the names, 'valet export' writes the values",
        "lock-keychain": locking,
        "unlock-keychain": "'valet unlock' asks for the passcode",
        "show-keychain-info": "'valet status' shows the state of the keychain",
        "set-keychain-settings": "'valet unlock --auto-lock 15m' locks after a time without use",
        "set-keychain-password": "'valet passcode change' changes the passcode",
        "create-keychain": oneKeychain, "list-keychains": oneKeychain,
        "default-keychain": oneKeychain, "delete-keychain": oneKeychain, "vault": oneKeychain,
        // 1Password's op, and aws-vault.
        "item": verbs, "items": verbs, "secret": verbs, "secrets": verbs, "keychain": oneKeychain,
        "field": fields, "fields": fields,
        "note": "'valet set KEY --note TEXT' stores a comment with a secret",
        "document": "'valet set KEY < FILE' stores a file, 'valet get KEY > FILE' writes it",
        "signin": noAccount, "sign-in": noAccount, "whoami": noAccount, "login": noAccount,
        "account": noAccount, "signout": locking, "logout": locking, "lock-all": locking,
        "dump": "'valet list --all' shows the names, 'valet export' writes the values",
        "share": "'valet sync' shares secrets between devices, 'valet move --to-cloud' makes one "
            + "of them shared",
        "rekey": "'valet rotate' begins new keys, 'valet passcode change' changes the passcode",
        // pass and gopass.
        "revisions": "'valet history KEY' lists the former values of a secret",
        "recover": "'valet undo KEY' brings a removed secret back; 'valet recovery use' opens a "
            + "keychain whose passcode or device key is lost",
        "audit": "'valet doctor' checks the keychain; nothing here judges passwords",
        "fsck": "'valet doctor' checks files, keys and every item",
        "git": "'valet history KEY' lists former values, 'valet sync' shares the keychain, 'valet "
            + "git-credential' answers git",
        "tree": "'valet list --tree' shows the names as a tree",
        "passwd": "'valet passcode change' changes the passcode, 'valet set KEY' a secret",
        "mounts": oneKeychain, "recipients": "'valet sync devices' lists who shares the keychain",
        "fscopy": "'valet set KEY < FILE' stores a file, 'valet get KEY > FILE' writes it",
        "fsmove": "'valet set KEY < FILE' stores a file; remove the file then",
        "sum": "'valet get KEY | sha256sum' shows the sum of a value", "-c": clipboard,
    ]

    /// Advice for options of other tools that the verb does not have.
    static let options: [String: [String: String]] = {
        let showing = [
            "-c": clipboard, "--clip": clipboard,
            "--otp": "'valet otp KEY' shows a one-time code",
        ]
        let value = "'valet get KEY' writes the value"
        let several =
            "'valet remove --matching 'NAME/*'' removes several, '--dry-run' shows them, and "
            + "'--yes' does not ask"
        return [
            "get": showing.merging(["-w": "'get' writes the value without it"]) { own, _ in own },
            "show": showing.merging(["-o": value, "--password": value, "-w": value]) { own, _ in
                own
            },
            "remove": [
                "-r": several, "-rf": several, "-f": "'--yes' does not ask",
                "--force": "'--yes' does not ask", "--recursive": several,
            ],
            "generate": [
                "-p": "'--print' writes the secret, 'valet copy KEY' copies it",
                "--generator": "'--words N' makes it of words, '--length N' of characters",
                "--xkcd": "'--words N' makes it of words",
            ],
            "inject": [
                "-i": "it reads standard input: 'valet inject < TEMPLATE > FILE'",
                "-o": "it writes to standard output: 'valet inject < TEMPLATE > FILE'",
            ],
            "search": ["--all": "it searches all applications without it"],
            "list": [
                "-l": "the table is the long form; '--names' is the short one",
                "--flat": "'--names' writes a name a line, '--tree' a tree",
            ],
        ]
    }()

    /// The replacement for an option of a verb; nil if none is known.
    static func text(forOption name: String, of verb: CommandDeclaration) -> String? {
        options[verb.name]?[name]
    }

    /// The replacement for the verb `word`; nil if none is known.
    static func text(for word: String) -> String? { advice[word] ?? advice[word.lowercased()] }
}
