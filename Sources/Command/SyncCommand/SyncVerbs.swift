// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI

/// The verbs of `valet sync`, each with the method that carries it out.
enum SyncVerbs {
    private typealias Verb = (
        declaration: CommandDeclaration, run: @Sendable (SyncCall) -> () throws(CLIError) -> Void
    )

    static var all: AddedVerbs {
        AddedVerbs(verbs.map(\.declaration), groups: groups) {
            (name, values, context) throws(CLIError) in
            let verb = verbs.first { $0.declaration.name == name }
            guard let verb else { return .failure }
            try verb.run(SyncCall(values, context))()
            return .success
        }
    }

    private static let verbs: [Verb] = [
        (SyncHelp.create, SyncCall.create),
        (SyncHelp.invite, SyncCall.invite),
        (SyncHelp.join, SyncCall.join),
        (SyncHelp.status, SyncCall.showStatus),
        (SyncHelp.run, SyncCall.runAgent),
        (SyncHelp.once, SyncCall.runOnce),
        (SyncHelp.pause, SyncCall.pause),
        (SyncHelp.resume, SyncCall.resume),
        (SyncHelp.unit, SyncCall.printUnit),
        (SyncHelp.list, SyncCall.listDevices),
        (SyncHelp.rename, SyncCall.renameDevice),
        (SyncHelp.remove, SyncCall.removeDevice),
        (SyncHelp.accept, SyncCall.acceptDevice),
        (SyncHelp.distrust, SyncCall.distrustDevice),
        (SyncHelp.leave, SyncCall.leave),
        (SyncHelp.move, SyncCall.move),
        (SyncHelp.recoveryAdd, SyncCall.addRecoveryKey),
        (SyncHelp.recover, SyncCall.recover),
        (SyncHelp.conflictsList, SyncCall.listConflicts),
        (SyncHelp.conflictsShow, SyncCall.showConflict),
        (SyncHelp.conflictsTake, SyncCall.takeConflict),
        (SyncHelp.conflictsDrop, SyncCall.dropConflicts),
    ]

    private static let groups = [
        GroupDeclaration(
            name: "sync", abstract: "share iCloud valets between your devices",
            discussion: [
                "The devices of a circle share the secrets of their iCloud valets (--cloud), and "
                    + "all synchronizable items. They need a place that all of them reach, and "
                    + "that is trusted with nothing but keeping bytes: a folder that a program "
                    + "such as Syncthing or Nextcloud copies, a network file system, or an etcd "
                    + "cluster. Everything in it is encrypted and signed.",
                "No other command waits for this, or fails because of it. 'valet sync run' keeps a "
                    + "device up to date for as long as it runs; 'valet sync once' does so once.",
            ],
            examples: [
                ("valet sync create --folder ~/Sync/valet", "On the first device."),
                ("valet sync invite", "On the first device, for each further one."),
                ("valet sync join --folder ~/Sync/valet", "On the further device."),
            ]),
        GroupDeclaration(
            name: "sync devices", abstract: "list, name or remove the devices of the circle",
            examples: [("valet sync devices list", "Lists the devices.")], defaultVerb: "list"),
        GroupDeclaration(
            name: "sync recovery", abstract: "let the recovery key open the circle",
            examples: [("valet sync recovery add", "Asks for the recovery key.")]),
        GroupDeclaration(
            name: "sync conflicts", abstract: "settle different values of one item",
            discussion: [
                "Two devices may change an item before they hear of each other. All devices then "
                    + "show the same one of the two values, and list the other as a conflict. A "
                    + "later write of the item settles it, too."
            ],
            examples: [("valet sync conflicts list", "Lists them.")], defaultVerb: "list"),
    ]
}

/// The options and arguments that several verbs of `sync` share.
enum SyncOptions {
    static let folder = OptionDeclaration(
        name: "folder", valueName: "PATH", help: "keep the circle in this folder")
    static let etcd = OptionDeclaration(
        name: "etcd", valueName: "URL[,URL…]",
        help: "keep the circle in the etcd cluster with these servers")
    static let authority = OptionDeclaration(
        name: "ca", valueName: "FILE",
        help: "with --etcd: trust servers that this certificate has signed")
    static let certificate = OptionDeclaration(
        name: "cert", valueName: "FILE", help: "with --etcd: this device's certificate")
    static let key = OptionDeclaration(
        name: "key", valueName: "FILE", help: "with --etcd: the key of that certificate")
    static let user = OptionDeclaration(
        name: "user", valueName: "NAME",
        help: "with --etcd: log in as this user, and ask for the "
            + "password")
    static let plainText = OptionDeclaration(
        name: "plain-http",
        help: "with --etcd: accept http addresses, on a network that you trust; not with --user")
    static let passwordDescriptor = OptionDeclaration(
        name: "password-fd", valueName: "N",
        help: "read the password of --user from file descriptor N: one line")
    static let store = [
        folder, etcd, authority, certificate, key, user, passwordDescriptor, plainText,
    ]

    static let name = OptionDeclaration(
        name: "name", valueName: "NAME",
        help: "what this device calls itself (default: the name of the machine)")
    static let recoveryKeyDescriptor = OptionDeclaration(
        name: "recovery-key-fd", valueName: "N",
        help: "read the recovery key from file descriptor N: one line")
    static let device = ArgumentDeclaration(
        name: "DEVICE", help: "the name of a device, or the start of its id")

    static let storeDiscussion =
        "With --folder, the folder must exist: where it should be mounted and is not, nothing is "
        + "written. With --etcd, servers other than those of this machine must have https "
        + "addresses, unless --plain-http is given. With --user all addresses must be https. The "
        + "password is stored in the keychain, for this device only."
    static let noCircle: (code: ExitCode, help: String) = (
        .notFound, "this keychain is in no circle"
    )
    static let unavailable: (code: ExitCode, help: String) = (
        .locked, "the keychain is locked or busy, or the store cannot be reached: try later"
    )
}

/// The executable `valet-sync`, which `valet sync` becomes. It has all of sync between devices, and
/// everything that talks to a network.
@main enum ValetSync {
    static func main() { exit(ValetTool.main(of: "sync", SyncVerbs.all)) }
}
