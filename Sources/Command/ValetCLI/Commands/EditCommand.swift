// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem
internal import ValetUserPresence

/// `valet edit KEY`.
enum EditCommand {
    static let declaration = CommandDeclaration(
        name: "edit", abstract: "change a secret in an editor",
        synonyms: ["vi", "vim", "nano", "modify"],
        discussion: [
            "Opens the secret in $VISUAL, else in $EDITOR, else in 'editor' or 'vi'; stores it if "
                + "it has changed and the editor ended well. A KEY without a secret gets a new "
                + "one. A newline that the editor added at the end is dropped.",
            "The file is in memory (a tmpfs), in a folder of its own, and $TMPDIR is that folder: "
                + "nothing gets onto a disk unless memory is swapped out. Both are wiped and "
                + "removed afterwards, also after a signal. vim and neovim are told to keep no "
                + "swap file, history or undo file, and Emacs no backup. Other editors, and "
                + "commands that only a shell understands, may keep copies elsewhere if they are "
                + "configured so.",
            "An editor must wait until the file is closed: 'code --wait'. If another program "
                + "changes the secret meanwhile, that value stays, and the text is stored as "
                + "KEY.edited. If the text cannot be stored, as while the disk is full, the "
                + "command keeps it in memory and offers to try again, for ten minutes.",
            FieldName.discussion, ItemOptions.placeDiscussion, ItemOptions.passwordDiscussion,
            ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key], options: ItemOptions.ofOneSecret + [FieldName.option],
        surplusHint: "a secret is never an argument: type it into the editor",
        schema: [
            ("name", "the key"), ("byteCount", "how many bytes are stored now"),
            ("changed", "whether the secret was changed"),
        ],
        exitCodes: [
            (.failure, "failure, as when the editor failed or another program changed the secret"),
            (.noSuchProgram, "there is no such editor"),
        ],
        examples: [
            ("valet edit ssh-config", "In your editor."),
            ("EDITOR='nano -w' valet edit notes", "In another one, with an option."),
        ])

    private static let fileName = "secret"

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let console = context.console
        try check(console)
        let editor = try Editor.chosen()
        let target = try ItemOptions.selection(values).existing(context)
        let field = try FieldName.given(values)
        let current = try current(of: target, field)
        if current == nil { try target.checkIsNowhere() }
        let old = current?.value ?? SecretValue(SecretBytes(byteCount: 0))
        guard old.isText else {
            throw CLIError(
                .failure, "\(target.title) is not text: an editor might damage it",
                hint: "'valet set KEY < FILE' replaces it")
        }
        let new = try edited(old, with: editor, console)
        let isChanged = !new.isEqual(to: old)
        if isChanged {
            try check(new)
            try store(new, over: current?.item, field, at: target, console)
        }
        if values.has(ItemOptions.json) {
            console.afterEffect { () throws(CLIError) in
                try console.write(
                    .object([
                        "name": .string(target.name), "byteCount": .number(new.byteCount),
                        "changed": .flag(isChanged),
                    ]))
            }
        } else {
            console.note("valet: \(target.title) \(isChanged ? "is stored" : "is unchanged")")
        }
        return .success
    }

    /// What is there to change, nothing for a new field; nil for a new secret.
    private static func current(
        of target: ItemTarget, _ field: FieldName?
    ) throws(CLIError) -> (item: StoredItem, value: SecretValue)? {
        guard let field else { return try target.current() }
        let item = try target.whole()
        let nothing = SecretValue(SecretBytes(byteCount: 0))
        return (item, item.field(field, among: item.fields) ?? nothing)
    }

    private static func check(_ new: SecretValue) throws(CLIError) {
        guard new.byteCount > 0 else {
            throw .usage(
                "the secret is empty: nothing was changed",
                hint: "'valet remove' removes a secret")
        }
        guard new.isText else {
            throw .usage(
                "the editor left no text: nothing was changed",
                hint: "'valet set KEY < FILE' stores any bytes")
        }
    }

    private static func check(_ console: any Console) throws(CLIError) {
        let hint = "'valet set KEY < FILE' stores a secret without an editor"
        guard console.isInputTerminal, console.isOutputTerminal else {
            throw .usage("an editor needs a terminal", hint: hint)
        }
        if let refusal = console.refusalToAsk {
            throw .usage("cannot open an editor: \(refusal)", hint: hint)
        }
    }

    /// How long a person has to make room, or to unlock the keychain, before the text is lost.
    private static let patience = Duration.seconds(600)

    /// Stores a value in place of the one that was read, or as a new secret. If that fails, the
    /// text is only in the memory of this process: offers to try again.
    private static func store(
        _ value: SecretValue, over item: StoredItem?, _ field: FieldName?, at target: ItemTarget,
        _ console: any Console
    ) throws(CLIError) {
        let name: String?
        while true {
            do {
                name = try target.storeEdited(value, over: item, field, console)
                break
            } catch {
                console.report(error)
                // No answer is a no.
                let isWanted = try? console.confirm(
                    "Your text is not stored, and is nowhere else. Try again?", within: patience)
                guard isWanted == true else {
                    throw CLIError(error.code, "nothing was stored: your text is gone")
                }
            }
        }
        guard let name else { return }
        throw CLIError(
            .failure,
            "another program changed \(target.title) meanwhile: your text is now the secret "
                + quoted(name),
            hint: field == nil
                ? "'valet get' shows both; 'valet rename --force' puts yours in its place"
                : "'valet get' shows it; 'valet set KEY --field NAME' puts it in its place")
    }

    /// What the editor makes of a value.
    private static func edited(
        _ old: SecretValue, with editor: Editor, _ console: any Console
    ) throws(CLIError) -> SecretValue {
        // Signals are held back from before the file is created until after it is removed.
        let (new, signals): (SecretValue?, Set<Int32>)
        do {
            let relay = try SignalRelay(
                ForegroundProgram.signals, until: Deadline(after: .seconds(5)))
            let folder = try MemoryFolder()
            try old.withBytes { (bytes: Span<UInt8>) throws(SystemError) in
                try folder.write(bytes, to: fileName)
            }
            let path = folder.path
            PasscodeDescriptor.keepFromPrograms(hasReadInput: false)
            let ending = try ForegroundProgram.run(
                path: editor.path, arguments: editor.arguments(for: path + "/" + fileName),
                changing: ["TMPDIR": path], under: relay)
            new = ending.exitCode == 0 && ending.signals.isEmpty ? try read(folder) : nil
            if !folder.remove() {
                console.note("valet: warning: \(path) could not be removed")
                console.hint("it is in memory, and has files of the editor: remove it")
            }
            signals = ending.signals.union(relay.end())
                .intersection(ForegroundProgram.endingSignals)
        } catch {
            throw CLIError(error)
        }
        SignalRelay.pass(signals)
        guard let new else {
            throw CLIError(.failure, "the editor failed: nothing was changed")
        }
        guard new.byteCount <= SetCommand.maximumByteCount else {
            throw .usage("the secret is larger than 16 MiB: nothing was changed")
        }
        return new.droppingAddedNewline(of: old)
    }

    private static func read(
        _ folder: borrowing MemoryFolder
    ) throws(SystemError) -> SecretValue {
        try folder.reading(fileName) { (file) throws(SystemError) in
            try SecretValue.read(
                from: file, atMost: SetCommand.maximumByteCount,
                until: Deadline(after: .seconds(30)))
        }
    }
}

extension ItemTarget {
    /// Stores what a person has typed in place of `item`, or as a new secret.
    ///
    /// - Returns: Another name for it, if another program has changed the item since; else nil.
    fileprivate func storeEdited(
        _ value: SecretValue, over item: StoredItem?, _ field: FieldName?, _ console: any Console
    ) throws(CLIError) -> String? {
        if let item {
            if try replace(item, field, with: value) { return nil }
        } else {
            do {
                let stored = try store(value, ifAbsent: true)
                noteIfTooLargeToTravel(value, stored, console)
                return nil
            } catch {
                guard error.code == .alreadyThere else { throw error }
            }
        }
        return try keepBeside(value, as: item)
    }

    /// Stores what a person has typed under a new name, as well protected as `item`. Returns the
    /// name.
    fileprivate func keepBeside(
        _ value: SecretValue, as item: StoredItem?
    ) throws(CLIError) -> String {
        var scope = scope
        if let item {
            (scope.accessibility, scope.isAccessibilityChosen) = (item.protectionClass, true)
            (scope.isCloud, scope.isCloudChosen) = (item.isSynchronizable, true)
        }
        let start = (key ?? item?.name ?? "") + ".edited"
        var number = 1
        while true {
            let key = number == 1 ? start : "\(start)-\(number)"
            let target = ItemTarget(scope: scope, key: key, form: .secret, keychain: keychain)
            do {
                _ = try target.storeSecret(value, ifAbsent: true)
                return key
            } catch {
                guard error.code == .alreadyThere, number < 100 else { throw error }
                number += 1
            }
        }
    }

    /// Fails if the name has a secret that the options do not choose: one name is one secret.
    fileprivate func checkIsNowhere() throws(CLIError) {
        guard case .secret = form, let (old, _) = try foreseen() else { return }
        throw .usage(
            "\(title) is stored otherwise: \(old.place)",
            hint: "leave out '--accessibility', '--cloud' and '--local'")
    }
}

extension SecretValue {
    /// Whether this is UTF-8 without a zero byte.
    var isText: Bool {
        withBytes { bytes in
            (try? UTF8Span(validating: bytes)) != nil
                && bytes.indices.allSatisfy { bytes[$0] != 0 }
        }
    }

    /// The value without the line end that an editor put behind the last line of `old`, which had
    /// none.
    fileprivate func droppingAddedNewline(of old: SecretValue) -> SecretValue {
        let newline = UInt8(ascii: "\n")
        let hadNewline = old.withBytes { $0.count > 0 && $0[$0.count - 1] == newline }
        return withBytes { bytes in
            guard !hadNewline, let last = bytes.indices.last, bytes[last] == newline else {
                return self
            }
            let isCRLF = last > 0 && bytes[last - 1] == UInt8(ascii: "\r")
            return SecretValue(copying: bytes.extracting(0..<(isCRLF ? last - 1 : last)))
        }
    }
}
