// SPDX-License-Identifier: Apache-2.0

/// The groups of verbs about passcodes and keys.
enum KeyGroups {
    static let all = [passcode, recovery, device]

    private static let passcode = GroupDeclaration(
        name: "passcode", abstract: "protect the keychain with a passcode",
        discussion: [
            "With a passcode the keychain can be locked, and a thief of the disk has to guess the "
                + "passcode at the cost of Argon2id. The keychain is locked after each restart: "
                + "'valet unlock' opens it for all programs of the user.",
            "A forgotten passcode cannot be looked up anywhere. 'valet recovery create' makes a "
                + "key for paper that replaces it.",
        ],
        examples: [
            ("valet passcode set", "Asks for a passcode, twice."),
            ("valet passcode change", "Asks for the old one, then twice for the new one."),
        ])

    private static let recovery = GroupDeclaration(
        name: "recovery", abstract: "keep a key on paper for a lost passcode or device key",
        discussion: [
            "A recovery key is 40 characters to write down. It opens the keychain without the "
                + "passcode and without the device key. If the device key is lost, all items "
                + "come back except those for this device only and those that need a person for "
                + "each use. If only the passcode is lost, only the items that need it are lost.",
            "The paper and the disk together give the secrets: keep the paper somewhere else.",
        ],
        examples: [
            ("valet recovery create", "Shows a new recovery key, once."),
            ("valet recovery use", "Asks for it, and restores access to the keychain."),
        ])

    private static let device = GroupDeclaration(
        name: "device", abstract: "choose where the device key is kept",
        discussion: [
            "The device key opens the keychain, alone or together with the passcode. It lies in a "
                + "file of the keychain's own unless it was bound to a systemd credential, to a "
                + "file that an administrator keeps, or to the machine's TPM. Without the device "
                + "key, only a recovery key opens the database."
        ],
        examples: [
            ("valet device status", "Where it comes from, and whether it is there."),
            ("valet device bind --key-file /run/secrets/valet.key", "Takes it from there."),
        ])
}
