// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI

/// The declarations of the verbs of `sync`. ``SyncVerbs`` lists them.
enum SyncHelp {
    private static let noDevice: (code: ExitCode, help: String) = (
        .notFound, "this keychain is in no circle, or there is no such device"
    )

    // MARK: The circle

    static let invitationDescriptor = OptionDeclaration(
        name: "invitation-fd", valueName: "N",
        help: "read the invitation from file descriptor N: one line")
    static let addMine = OptionDeclaration(
        name: "add-mine", help: "send items that the circle lacks to it, without asking")
    static let circle = OptionDeclaration(
        name: "circle", valueName: "ID",
        help: "the circle, 32 hexadecimal digits; 'valet sync recovery add' shows them")
    static let keep = OptionDeclaration(
        name: "keep", valueName: "DEVICE[,DEVICE…]",
        help: "devices that you still have; all others are removed")

    static let create = CommandDeclaration(
        name: "sync create", abstract: "found a circle, with this device as its first member",
        discussion: [
            "The synchronizable items of this keychain are the first items of the circle. Creates "
                + "the keychain if necessary.",
            SyncOptions.storeDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: SyncOptions.store + [SyncOptions.name, KeyOptions.passcodeDescriptor],
        exitCodes: [
            (.alreadyThere, "this keychain is in a circle already"), SyncOptions.unavailable,
        ],
        examples: [
            ("valet sync create --folder ~/Sync/valet", "In a folder that Syncthing copies."),
            (
                "valet sync create --etcd https://etcd1:2379,https://etcd2:2379 --ca ca.pem",
                "In an etcd cluster."
            ),
        ])

    static let invite = CommandDeclaration(
        name: "sync invite", abstract: "let another device of yours join the circle",
        discussion: [
            "Shows an invitation, as text and, where libqrencode is installed, as a QR code on the "
                + "terminal. Type it on the other device, into 'valet sync join'. It is valid for "
                + "ten minutes, and for one device.",
            "Then both devices show four words. Compare them, and answer on both devices. Say no "
                + "if they differ: somebody else has seen the invitation and is trying to join.",
            "The keychain must be unlocked.",
        ],
        options: [KeyOptions.passcodeDescriptor],
        exitCodes: [
            SyncOptions.noCircle, SyncOptions.unavailable,
            (.denied, "one of you answered no, or nobody joined in time"),
        ],
        examples: [("valet sync invite", "Then 'valet sync join' on the other device.")])

    static let join = CommandDeclaration(
        name: "sync join", abstract: "join the circle of another device of yours",
        discussion: [
            "Asks for the invitation that 'valet sync invite' shows on the other device, and shows "
                + "four words to compare. Then reads everything that the circle has. Creates the "
                + "keychain if necessary.",
            "An item that both have, with different values, gets the value of the circle; 'valet "
                + "undo KEY' gets this device's back. Items that the circle lacks may have "
                + "been removed there: the command asks before it sends them, or needs --add-mine.",
            SyncOptions.storeDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: SyncOptions.store + [
            invitationDescriptor, addMine, SyncOptions.name, KeyOptions.passcodeDescriptor,
        ],
        exitCodes: [
            (.alreadyThere, "this keychain is in a circle already"), SyncOptions.unavailable,
            (.denied, "the invitation is wrong, mistyped or too old, or one of you answered no"),
        ],
        examples: [
            ("valet sync join --folder ~/Sync/valet", "Asks for the invitation."),
            (
                "valet sync join --folder ~/Sync/valet --add-mine",
                "Also sends items that the circle lacks."
            ),
        ])

    static let leave = CommandDeclaration(
        name: "sync leave", abstract: "take this device out of the circle; its items stay",
        discussion: [
            "Sends what is not sent yet, and then takes this device out. Its items stay, and no "
                + "longer change with those of the circle. Another device gives the circle new "
                + "keys as soon as it is unlocked. Asks first.",
            "With --here, sends nothing and tells nobody: for a device that was removed, or whose "
                + "store is gone. The other devices list this one until one of them removes it.",
            "Conflicts, and values that a newer one of another device has replaced before they "
                + "were sent, become former values: 'valet history' lists them.",
        ],
        options: [leaveHere, skipDamaged, KeyOptions.yes, KeyOptions.passcodeDescriptor],
        exitCodes: [
            SyncOptions.noCircle, KeyOptions.noConsent, SyncOptions.unavailable,
            (.damaged, "a conflict cannot be read, and nothing was changed"),
        ],
        examples: [("valet sync leave", "Before you give the device away.")])

    static let leaveHere = OptionDeclaration(
        name: "here", help: "forget the circle on this device, and tell nobody")

    static let skipDamaged = OptionDeclaration(
        name: "skip-damaged", help: "give up conflicts that cannot be read, instead of failing")

    static let move = CommandDeclaration(
        name: "sync move", abstract: "found a new circle with the items of this one",
        discussion: [
            "For a circle that has reached a limit: of devices, changes of devices, or logs. "
                + "Founds a new circle in the same store with everything that this device shows. "
                + "Invite the other devices, after 'valet sync leave --here' on each. Asks first.",
            KeyOptions.askingDiscussion,
        ],
        options: [KeyOptions.yes, KeyOptions.passcodeDescriptor],
        exitCodes: [SyncOptions.noCircle, KeyOptions.noConsent, SyncOptions.unavailable],
        examples: [("valet sync move", "Then 'valet sync invite' for each device.")])

    static let recoveryAdd = CommandDeclaration(
        name: "sync recovery add", abstract: "let the recovery key on paper open the circle",
        discussion: [
            "Asks for the keychain's recovery key, which 'valet recovery create' has shown, and "
                + "makes it a member of the circle. With it, 'valet sync recover' brings a circle "
                + "back of which no device is left. Otherwise a circle is lost with its last "
                + "device.",
            "If you replace or revoke the recovery key, the next run of 'valet sync run' or 'valet "
                + "sync once' takes the old one out of the circle.",
        ],
        options: [SyncOptions.recoveryKeyDescriptor, KeyOptions.passcodeDescriptor],
        exitCodes: [
            SyncOptions.noCircle, SyncOptions.unavailable,
            (.denied, "the recovery key is wrong or mistyped"),
        ],
        examples: [("valet sync recovery add", "Asks for the recovery key.")])

    static let recover = CommandDeclaration(
        name: "sync recover", abstract: "join a circle with the recovery key on paper",
        discussion: [
            "For a circle of which you have no device any more. Shows when the circle was last "
                + "changed: a store could show an old state. Adds this device, reads everything, "
                + "and then asks whether to remove the devices that --keep does not name.",
            SyncOptions.storeDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: SyncOptions.store + [
            circle, keep, SyncOptions.recoveryKeyDescriptor, SyncOptions.name, addMine,
            KeyOptions.yes, KeyOptions.passcodeDescriptor,
        ],
        exitCodes: [
            (.notFound, "the store has no circle that this recovery key opens"),
            (.alreadyThere, "this keychain is in a circle already"), SyncOptions.unavailable,
            (.denied, "the recovery key is wrong or mistyped, or you declined"),
        ],
        examples: [
            (
                "valet sync recover --folder ~/Sync/valet --circle $CIRCLE",
                "Asks for the recovery key."
            )
        ])

    // MARK: Devices

    static let newName = ArgumentDeclaration(name: "NAME", help: "what to call it on this device")

    static let list = CommandDeclaration(
        name: "sync devices list", abstract: "list the devices of the circle",
        options: [ItemOptions.json],
        schema: [
            ("id", "32 hexadecimal digits"), ("name", "what this device calls it, or null"),
            ("isThisDevice", "true for this device"),
            ("kind", "device, or recovery for the recovery key on paper"),
            ("milliseconds", "when its newest message was written, since 1970, or null"),
        ],
        exitCodes: [SyncOptions.noCircle],
        examples: [("valet sync devices list --json", "For programs: an array of objects.")])

    static let rename = CommandDeclaration(
        name: "sync devices rename", abstract: "call a device something else on this device",
        discussion: ["Names are local: other devices do not see the change."],
        arguments: [SyncOptions.device, newName],
        exitCodes: [noDevice],
        examples: [("valet sync devices rename 5f3a laptop", "By the start of its id.")])

    static let remove = CommandDeclaration(
        name: "sync devices remove", abstract: "remove a device from the circle",
        discussion: [
            "Gives the circle new keys, which the device does not get. It reads nothing that is "
                + "written after that, and nothing that it writes is read. It keeps everything "
                + "that it has: the command lists these items, so that you can change the "
                + "passwords and tokens in them. Asks first."
        ],
        arguments: [SyncOptions.device],
        options: [KeyOptions.yes, KeyOptions.passcodeDescriptor],
        exitCodes: [
            noDevice, KeyOptions.noConsent, SyncOptions.unavailable,
        ],
        examples: [("valet sync devices remove phone", "When a device was lost.")])

    static let accept = CommandDeclaration(
        name: "sync accept", abstract: "permit a device to replace many values",
        discussion: [
            "This device keeps the values that others replace, but not without a limit. If one "
                + "device replaces or removes more than there is room for, its changes wait, and "
                + "'valet sync status' names it. This command takes them in, and drops the oldest "
                + "of the kept values."
        ],
        arguments: [SyncOptions.device],
        options: [KeyOptions.yes],
        exitCodes: [noDevice, KeyOptions.noConsent],
        examples: [("valet sync accept laptop", "After you have changed everything there.")])

    static let distrust = CommandDeclaration(
        name: "sync distrust", abstract: "choose between two devices that remove each other",
        discussion: [
            "For the alarm 'roster' of 'valet sync status' alone: two devices have removed each "
                + "other, and only you know which of them is still yours. The device that you "
                + "name counts as removed on this device. Asks first, as this cannot be undone."
        ],
        arguments: [SyncOptions.device],
        options: [KeyOptions.yes, KeyOptions.passcodeDescriptor],
        exitCodes: [noDevice, KeyOptions.noConsent],
        examples: [("valet sync distrust phone", "The phone was stolen.")])

    // MARK: The agent

    static let status = CommandDeclaration(
        name: "sync status", abstract: "show what was sent, what was read, and what is wrong",
        discussion: [
            "Shows what the last run of 'valet sync run' or 'valet sync once' found. Reads no "
                + "store and asks nothing."
        ],
        options: [ItemOptions.json],
        schema: [
            (
                "state",
                "off, joining, current, working, waiting, locked, closed, paused, full, denied, "
                    + "unavailable, newer, removed or alarm"
            ),
            ("circle", "the circle, 32 hexadecimal digits, or null"),
            ("store", "where it is kept, or null"),
            ("device", "the id of this device, or null"),
            ("milliseconds", "when the last run ended: since 1970"),
            ("pending", "how many changes are still to be sent"),
            ("unsent", "how many items of this device the circle lacks, until --add-mine"),
            ("conflicts", "how many values are not shown"),
            (
                "devices",
                "an array of the other devices, each with id, name, milliseconds (its newest "
                    + "message), clockDifference (in milliseconds), and behind (how many messages "
                    + "of this device it has not read)"
            ),
            ("findings", "an array of what is wrong, each with text and hint"),
        ],
        examples: [("valet sync status", "Says what to do if something is wrong.")])

    static let run = CommandDeclaration(
        name: "sync run", abstract: "keep this device up to date until it is ended",
        discussion: [
            "Sends each change within seconds, and takes in those of other devices. Runs until it "
                + "gets SIGTERM or SIGINT. 'valet sync unit' prints a unit that runs it in the "
                + "background."
        ],
        exitCodes: [SyncOptions.noCircle],
        examples: [("valet sync run", "In the foreground.")])

    static let once = CommandDeclaration(
        name: "sync once", abstract: "send and take in all changes once",
        options: [addMine],
        exitCodes: [
            (.failure, "sync is paused, or another device uses a newer version"),
            SyncOptions.noCircle, (.damaged, "an alarm: 'valet sync status' says what it is"),
            (
                .locked,
                "not everything was sent and taken in: the keychain is locked, the store cannot be "
                    + "reached, or messages are missing in it; try later"
            ),
            (.denied, "this device was removed, or the store refuses it"),
        ],
        examples: [("valet sync once", "For a timer, or after a long journey.")])

    static let pause = CommandDeclaration(
        name: "sync pause", abstract: "send and take in nothing until 'valet sync resume'",
        exitCodes: [SyncOptions.noCircle],
        examples: [("valet sync pause", "On an expensive network.")])

    static let resume = CommandDeclaration(
        name: "sync resume", abstract: "end the pause",
        exitCodes: [SyncOptions.noCircle],
        examples: [("valet sync resume", "Goes on where it stopped.")])

    static let unit = CommandDeclaration(
        name: "sync unit", abstract: "print a unit that lets systemd run 'valet sync run'",
        discussion: [
            "Prints a unit for the user's service manager. Nothing is installed or started."
        ],
        examples: [
            (
                "valet sync unit > ~/.config/systemd/user/valet-sync.service",
                "Then 'systemctl --user enable --now valet-sync'."
            )
        ])

    // MARK: Conflicts

    static let value = ArgumentDeclaration(
        name: "VALUE", help: "the id that the list shows, or its start")
    /// ``value``, for a verb where ``from`` may choose the values instead.
    static let droppedValue = ArgumentDeclaration(
        name: "VALUE", help: "the id that the list shows, or its start", alternative: from)
    static let from = OptionDeclaration(
        name: "from", valueName: "DEVICE", help: "drop all conflicts that this device wrote")

    private static let schema: [(member: String, help: String)] = [
        ("value", "the id of the value"),
        ("name", "the account, or what else names the item, or null"),
        ("owner", "the valet's identifier, the service or server"),
        ("kind", ItemOwner.Kind.allCases.map(\.rawValue).joined(separator: ", ")),
        ("group", "the application, or the group that applications share"),
        ("device", "the device that wrote it, or null"),
        ("milliseconds", "when: since 1970"),
        ("readable", "false if the keychain is locked, or the value is damaged"),
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
        discussion: [
            "A value that cannot be read, because the keychain is locked or the value is damaged, "
                + "is listed with the name of its item if that is known."
        ],
        options: [ItemOptions.json], schema: schema, exitCodes: [SyncOptions.noCircle],
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
                + "conflict of the item. Its value until now becomes a former one: 'valet history'."
        ],
        arguments: [value], exitCodes: [noValue, locked],
        examples: [("valet sync conflicts take 5f3a", "By the start of its id.")])

    static let conflictsDrop = CommandDeclaration(
        name: "sync conflicts drop", abstract: "remove such a value on all devices",
        discussion: [
            "Removes the value that you name, or all that one device wrote: those of a thief, for "
                + "example. The shown value stays. Asks first."
        ],
        arguments: [droppedValue], options: [from, KeyOptions.yes],
        exitCodes: [noValue, KeyOptions.noConsent, locked],
        examples: [
            ("valet sync conflicts drop 5f3a", "By the start of its id."),
            ("valet sync conflicts drop --from phone", "All that a stolen phone wrote."),
        ])
}
