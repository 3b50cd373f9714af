// SPDX-License-Identifier: Apache-2.0

// The program `valet` and its verbs. They have a file of their own, so that programs for one group
// of verbs can leave it out: the linker keeps or drops the constants of a file together.

extension ValetTool {
    /// Runs the command line of `valet`, and returns its exit code.
    ///
    /// - Parameters:
    ///   - added: The verbs that other modules carry out.
    ///   - words: Returns the words that a call by another name stands for, from that name and the
    ///     arguments of the call.
    package static func main(
        adding added: AddedVerbs, _ words: (_ name: String, [String?]) -> [String?]
    ) -> Int32 {
        main { (context) in
            var context = context
            context.added = added
            return run(words(Terminal.programName, Terminal.arguments), in: context)
        }
    }

    /// Runs the command line `arguments`. nil stands for an argument that is not UTF-8.
    static func run(_ arguments: [String?], in context: Context) -> ExitCode {
        reporting(arguments, context) { () throws(CLIError) in
            guard !arguments.isEmpty else { return try StartPage.show(context) }
            let frequent = frequentVerb(arguments.first ?? nil)
            try SyncCommand.handOver(arguments, in: context)
            let table =
                frequent.map { VerbTable(verbs: [$0.declaration()], groups: []) }
                ?? table(adding: context.added)
            return try perform(arguments, table, context) { (name, values) throws(CLIError) in
                // Locking asks no questions, so a wrong variable must not stop it.
                if name != "lock" { try checkSettings() }
                let verb = frequent ?? verbs.first { $0.declaration().name == name }
                guard let verb else { return try context.added.run(name, values, context) }
                return try verb.run(values, context)
            }
        }
    }

    /// The verbs that scripts call most. Declaring all others as well, to read a command line,
    /// would take a tenth of the time that reading a secret takes.
    private static func frequentVerb(_ word: String?) -> Verb? {
        switch word {
        case "get", "cat": Verb(GetCommand.declaration, GetCommand.run)
        case "set": Verb(SetCommand.declaration, SetCommand.run)
        case "contains": Verb(ContainsCommand.declaration, ContainsCommand.run)
        case "read": Verb(ReadCommand.declaration, ReadCommand.run)
        case "run": Verb(RunCommand.declaration, RunCommand.run)
        // The process that `copy` starts. It is in no list: nobody else needs it.
        case ClipboardClearing.name: Verb(ClipboardClearing.declaration, ClipboardClearing.run)
        default: nil
        }
    }

    private static var verbs: [Verb] {
        [
            Verb(SetCommand.declaration, SetCommand.run),
            Verb(GetCommand.declaration, GetCommand.run),
            Verb(ContainsCommand.declaration, ContainsCommand.run),
            Verb(RemoveCommand.declaration, RemoveCommand.run),
            Verb(ShowCommand.declaration, ShowCommand.run),
            Verb(MoveCommand.declaration, MoveCommand.run),
            Verb(RenameCommand.declaration, RenameCommand.run),
            Verb(CopyToCommand.declaration, CopyToCommand.run),
            Verb(MigrateCommand.declaration, MigrateCommand.run),
            Verb(HistoryCommand.declaration, HistoryCommand.run),
            Verb(UndoCommand.declaration, UndoCommand.run),
            Verb(ListCommand.declaration, ListCommand.run),
            Verb(SearchCommand.declaration, SearchCommand.run),
            Verb(ReadCommand.declaration, ReadCommand.run),
            Verb(RunCommand.declaration, RunCommand.run),
            Verb(InjectCommand.declaration, InjectCommand.run),
            Verb(GenerateCommand.declaration, GenerateCommand.run),
            Verb(OTPCommand.declaration, OTPCommand.run),
            Verb(OTPAddCommand.declaration, OTPAddCommand.run),
            Verb(EditCommand.declaration, EditCommand.run),
            Verb(CopyCommand.declaration, CopyCommand.run),
            Verb(StatusCommand.declaration, StatusCommand.run),
            Verb(WatchCommand.declaration, WatchCommand.run),
            Verb(SettingsCommand.declaration, SettingsCommand.run),
            Verb(GrantsCommand.declaration, GrantsCommand.run),
            Verb(GrantsRemoveCommand.declaration, GrantsRemoveCommand.run),
            Verb(DoctorCommand.declaration, DoctorCommand.run),
            Verb(UnlockCommand.declaration, UnlockCommand.run),
            Verb(LockCommand.declaration, LockCommand.run),
            Verb(PasscodeSetCommand.declaration, PasscodeSetCommand.run),
            Verb(PasscodeChangeCommand.declaration, PasscodeChangeCommand.run),
            Verb(PasscodeRemoveCommand.declaration, PasscodeRemoveCommand.run),
            Verb(RecoveryCreateCommand.declaration, RecoveryCreateCommand.run),
            Verb(RecoveryUseCommand.declaration, RecoveryUseCommand.run),
            Verb(RecoveryRevokeCommand.declaration, RecoveryRevokeCommand.run),
            Verb(DeviceStatusCommand.declaration, DeviceStatusCommand.run),
            Verb(DeviceBindCommand.declaration, DeviceBindCommand.run),
            Verb(DeviceUnbindCommand.declaration, DeviceUnbindCommand.run),
            Verb(RotateCommand.declaration, RotateCommand.run),
            Verb(BackupCreateCommand.declaration, BackupCreateCommand.run),
            Verb(BackupListCommand.declaration, BackupListCommand.run),
            Verb(BackupVerifyCommand.declaration, BackupVerifyCommand.run),
            Verb(BackupRestoreCommand.declaration, BackupRestoreCommand.run),
            Verb(EntitlementsInitCommand.declaration, EntitlementsInitCommand.run),
            Verb(EntitlementsAddCommand.declaration, EntitlementsAddCommand.run),
            Verb(EntitlementsShowCommand.declaration, EntitlementsShowCommand.run),
            Verb(EntitlementsCheckCommand.declaration, EntitlementsCheckCommand.run),
            Verb(SyncCommand.declaration, SyncCommand.run),
            Verb(CompletionsCommand.declaration, CompletionsCommand.run),
            Verb(ManualCommand.declaration, ManualCommand.run),
        ]
    }

    /// The groups of verbs with two words.
    private static let groups: [GroupDeclaration] =
        [
            PasscodeGroup.declaration, RecoveryGroup.declaration, DeviceGroup.declaration,
            BackupOptions.group, EntitlementsInitCommand.group,
        ]

    static func table(adding added: AddedVerbs) -> VerbTable {
        let added = added.table
        return VerbTable(
            verbs: verbs.map { $0.declaration() } + added.verbs, groups: groups + added.groups)
    }
}
