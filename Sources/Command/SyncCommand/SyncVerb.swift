// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI

/// A verb of `valet sync`.
enum SyncVerb: String, CaseIterable, Sendable {
    case create = "sync create"
    case invite = "sync invite"
    case join = "sync join"
    case status = "sync status"
    case run = "sync run"
    case once = "sync once"
    case pause = "sync pause"
    case resume = "sync resume"
    case unit = "sync unit"
    case devicesList = "sync devices list"
    case devicesRename = "sync devices rename"
    case devicesRemove = "sync devices remove"
    case accept = "sync accept"
    case distrust = "sync distrust"
    case leave = "sync leave"
    case move = "sync move"
    case recoveryAdd = "sync recovery add"
    case recover = "sync recover"
    case conflictsList = "sync conflicts list"
    case conflictsShow = "sync conflicts show"
    case conflictsTake = "sync conflicts take"
    case conflictsDrop = "sync conflicts drop"
    case replacedList = "sync replaced list"
    case replacedShow = "sync replaced show"
    case replacedRestore = "sync replaced restore"

    /// All verbs, for the program `valet-sync`.
    static var all: AddedVerbs {
        AddedVerbs(allCases.map(\.declaration), groups: groups) {
            (name, values, context) throws(CLIError) in
            guard let verb = SyncVerb(rawValue: name) else { return .failure }
            return try SyncTool.run(verb, values, context)
        }
    }

    /// What the verb takes and does.
    private var declaration: CommandDeclaration {
        switch self {
        case .create: SyncCircleHelp.create
        case .invite: SyncCircleHelp.invite
        case .join: SyncCircleHelp.join
        case .leave: SyncCircleHelp.leave
        case .move: SyncCircleHelp.move
        case .recoveryAdd: SyncCircleHelp.recoveryAdd
        case .recover: SyncCircleHelp.recover
        case .devicesList: SyncDevicesHelp.list
        case .devicesRename: SyncDevicesHelp.rename
        case .devicesRemove: SyncDevicesHelp.remove
        case .accept: SyncDevicesHelp.accept
        case .distrust: SyncDevicesHelp.distrust
        case .status: SyncAgentHelp.status
        case .run: SyncAgentHelp.run
        case .once: SyncAgentHelp.once
        case .pause: SyncAgentHelp.pause
        case .resume: SyncAgentHelp.resume
        case .unit: SyncAgentHelp.unit
        case .conflictsList: SyncValuesHelp.conflictsList
        case .conflictsShow: SyncValuesHelp.conflictsShow
        case .conflictsTake: SyncValuesHelp.conflictsTake
        case .conflictsDrop: SyncValuesHelp.conflictsDrop
        case .replacedList: SyncValuesHelp.replacedList
        case .replacedShow: SyncValuesHelp.replacedShow
        case .replacedRestore: SyncValuesHelp.replacedRestore
        }
    }

    /// The group `valet sync`, and those in it.
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
        GroupDeclaration(
            name: "sync replaced", abstract: "get back values that other devices replaced",
            discussion: [
                "A device keeps values that other devices replaced or removed: of each item the "
                    + "seven newest, and the oldest, for 30 days."
            ],
            examples: [("valet sync replaced list", "Lists them.")], defaultVerb: "list"),
    ]
}

/// The options and arguments that several verbs of `sync` share.
enum SyncOptions {
    /// The folder that carries the bytes.
    static let folder = OptionDeclaration(
        name: "folder", valueName: "PATH", help: "keep the circle in this folder")
    /// The servers that carry the bytes.
    static let etcd = OptionDeclaration(
        name: "etcd", valueName: "URL[,URL…]",
        help: "keep the circle in the etcd cluster with these servers")
    /// The certificate authority of the servers.
    static let authority = OptionDeclaration(
        name: "ca", valueName: "FILE",
        help: "with --etcd: trust servers that this certificate has signed")
    /// The certificate of this device.
    static let certificate = OptionDeclaration(
        name: "cert", valueName: "FILE", help: "with --etcd: this device's certificate")
    /// The key of that certificate.
    static let key = OptionDeclaration(
        name: "key", valueName: "FILE", help: "with --etcd: the key of that certificate")
    /// The user's name at the servers.
    static let user = OptionDeclaration(
        name: "user", valueName: "NAME",
        help: "with --etcd: log in as this user, and ask for the "
            + "password")
    /// Whether http is good enough.
    static let plainText = OptionDeclaration(
        name: "plain-http",
        help: "with --etcd: accept http addresses, on a network that you trust; not with --user")
    /// The password of that user.
    static let passwordDescriptor = OptionDeclaration(
        name: "password-fd", valueName: "N",
        help: "read the password of --user from file descriptor N: one line")
    /// Everything that chooses a store.
    static let store = [
        folder, etcd, authority, certificate, key, user, passwordDescriptor, plainText,
    ]

    /// The name of this device.
    static let name = OptionDeclaration(
        name: "name", valueName: "NAME",
        help: "what this device calls itself (default: the name of the machine)")
    static let recoveryKeyDescriptor = OptionDeclaration(
        name: "recovery-key-fd", valueName: "N",
        help: "read the recovery key from file descriptor N: one line")
    /// Consent in advance.
    static let yes = KeyOptions.yes
    /// The keychain's passcode.
    static let passcodeDescriptor = KeyOptions.passcodeDescriptor
    /// JSON instead of text.
    static let json = ItemOptions.json
    /// A device of the circle.
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
