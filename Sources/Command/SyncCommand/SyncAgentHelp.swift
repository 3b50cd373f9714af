// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI

// The declarations of the verbs of `sync` about devices and about the agent, which keeps a device
// up to date. `SyncVerbs` lists them.

/// The verbs about devices of the circle.
enum SyncDevicesHelp {
    static let newName = ArgumentDeclaration(
        name: "NAME", help: "what to call it on this device")

    static let list = CommandDeclaration(
        name: "sync devices list", abstract: "list the devices of the circle",
        options: [SyncOptions.json],
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
        exitCodes: [(.notFound, "this keychain is in no circle, or there is no such device")],
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
        options: [SyncOptions.yes, SyncOptions.passcodeDescriptor],
        exitCodes: [
            (.notFound, "this keychain is in no circle, or there is no such device"),
            KeyOptions.noConsent, SyncOptions.unavailable,
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
        options: [SyncOptions.yes],
        exitCodes: [
            (.notFound, "this keychain is in no circle, or there is no such device"),
            KeyOptions.noConsent,
        ],
        examples: [("valet sync accept laptop", "After you have changed everything there.")])

    static let distrust = CommandDeclaration(
        name: "sync distrust", abstract: "choose between two devices that remove each other",
        discussion: [
            "For the alarm 'roster' of 'valet sync status' alone: two devices have removed each "
                + "other, and only you know which of them is still yours. The device that you "
                + "name counts as removed on this device. Asks first, as this cannot be undone."
        ],
        arguments: [SyncOptions.device],
        options: [SyncOptions.yes, SyncOptions.passcodeDescriptor],
        exitCodes: [
            (.notFound, "this keychain is in no circle, or there is no such device"),
            KeyOptions.noConsent,
        ],
        examples: [("valet sync distrust phone", "The phone was stolen.")])
}

/// The verbs about the agent.
enum SyncAgentHelp {
    static let status = CommandDeclaration(
        name: "sync status", abstract: "show what was sent, what was read, and what is wrong",
        discussion: [
            "Shows what the last run of 'valet sync run' or 'valet sync once' found. Reads no "
                + "store and asks nothing."
        ],
        options: [SyncOptions.json],
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
        options: [SyncCircleHelp.addMine],
        exitCodes: [
            SyncOptions.noCircle, (.damaged, "an alarm: 'valet sync status' says what it is"),
            SyncOptions.unavailable, (.denied, "this device was removed, or the store refuses it"),
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
}
