// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI

/// The declarations of the verbs of `sync` about values that are not shown: conflicts, and values
/// that other devices replaced. ``SyncVerbs`` lists them.
enum SyncValuesHelp {
    static let value = ArgumentDeclaration(
        name: "VALUE", help: "the id that the list shows, or its start")
    /// The same, where another option may choose the values.
    static let droppedValue = ArgumentDeclaration(
        name: "VALUE", help: "the id that the list shows, or its start", alternative: from)
    static let from = OptionDeclaration(
        name: "from", valueName: "DEVICE", help: "drop all conflicts that this device wrote")

    private static let schema: [(member: String, help: String)] = [
        ("value", "the id of the value"), ("name", "the account, or what else names the item"),
        ("owner", "the valet's identifier, the service or server"),
        ("kind", ItemOwner.Kind.allCases.map(\.rawValue).joined(separator: ", ")),
        ("group", "the application, or the group that applications share"),
        ("device", "the device that wrote it, or null"),
        ("milliseconds", "when: since 1970"),
    ]
    private static let showDiscussion =
        "Writes the exact bytes, and a newline after them at a terminal, as 'valet get' does."
    private static let noValue: (code: ExitCode, help: String) = (
        .notFound, "this keychain is in no circle, or there is no such value"
    )
    private static let locked: (code: ExitCode, help: String) = (
        .locked, "the keychain is locked or busy: try again later"
    )

    static let conflictsList = CommandDeclaration(
        name: "sync conflicts list", abstract: "list values that are not shown",
        discussion: ["Items that need the keychain unlocked are left out while it is locked."],
        options: [SyncOptions.json], schema: schema, exitCodes: [SyncOptions.noCircle],
        examples: [("valet sync conflicts list", "One line for each value.")])

    static let conflictsShow = CommandDeclaration(
        name: "sync conflicts show", abstract: "write such a value to standard output",
        discussion: [showDiscussion], arguments: [value], options: [ItemOptions.force],
        exitCodes: [noValue, locked],
        examples: [("valet sync conflicts show 5f3a", "By the start of its id.")])

    static let conflictsTake = CommandDeclaration(
        name: "sync conflicts take", abstract: "make such a value the item's value",
        discussion: [
            "Writes the value anew, on this device and then on all others. This settles the "
                + "conflict of the item."
        ],
        arguments: [value], exitCodes: [noValue, locked],
        examples: [("valet sync conflicts take 5f3a", "By the start of its id.")])

    static let conflictsDrop = CommandDeclaration(
        name: "sync conflicts drop", abstract: "remove such a value on all devices",
        discussion: [
            "Removes the value that you name, or all that one device wrote: those of a thief, for "
                + "example. The shown value stays. Asks first."
        ],
        arguments: [droppedValue], options: [from, SyncOptions.yes],
        exitCodes: [noValue, KeyOptions.noConsent, locked],
        examples: [
            ("valet sync conflicts drop 5f3a", "By the start of its id."),
            ("valet sync conflicts drop --from phone", "All that a stolen phone wrote."),
        ])

    static let replacedList = CommandDeclaration(
        name: "sync replaced list", abstract: "list values that other devices replaced",
        discussion: ["Items that need the keychain unlocked are left out while it is locked."],
        options: [SyncOptions.json], schema: schema, exitCodes: [SyncOptions.noCircle],
        examples: [("valet sync replaced list", "One line for each value.")])

    static let replacedShow = CommandDeclaration(
        name: "sync replaced show", abstract: "write such a value to standard output",
        discussion: [showDiscussion], arguments: [value], options: [ItemOptions.force],
        exitCodes: [noValue, locked],
        examples: [("valet sync replaced show 5f3a", "By the start of its id.")])

    static let replacedRestore = CommandDeclaration(
        name: "sync replaced restore", abstract: "make such a value the item's value again",
        arguments: [value], exitCodes: [noValue, locked],
        examples: [("valet sync replaced restore 5f3a", "On this device and then on all others.")])
}
