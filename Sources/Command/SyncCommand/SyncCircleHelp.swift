// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI

/// The declarations of the verbs of `sync` that found a circle, join it and leave it. ``SyncVerbs``
/// lists them.
enum SyncCircleHelp {
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
        options: SyncOptions.store + [SyncOptions.name, SyncOptions.passcodeDescriptor],
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
        options: [SyncOptions.passcodeDescriptor],
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
                + "sync replaced' gets this device's back. Items that the circle lacks may have "
                + "been removed there: the command asks before it sends them, or needs --add-mine.",
            SyncOptions.storeDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: SyncOptions.store + [
            invitationDescriptor, addMine, SyncOptions.name, SyncOptions.passcodeDescriptor,
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
        ],
        options: [leaveHere, SyncOptions.yes, SyncOptions.passcodeDescriptor],
        exitCodes: [SyncOptions.noCircle, KeyOptions.noConsent, SyncOptions.unavailable],
        examples: [("valet sync leave", "Before you give the device away.")])

    static let leaveHere = OptionDeclaration(
        name: "here", help: "forget the circle on this device, and tell nobody")

    static let move = CommandDeclaration(
        name: "sync move", abstract: "found a new circle with the items of this one",
        discussion: [
            "For a circle that has reached a limit: of devices, changes of devices, or logs. "
                + "Founds a new circle in the same store with everything that this device shows. "
                + "Invite the other devices, after 'valet sync leave --here' on each. Asks first.",
            KeyOptions.askingDiscussion,
        ],
        options: [SyncOptions.yes, SyncOptions.passcodeDescriptor],
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
        options: [SyncOptions.recoveryKeyDescriptor, SyncOptions.passcodeDescriptor],
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
            SyncOptions.yes, SyncOptions.passcodeDescriptor,
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
}
