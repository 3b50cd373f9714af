// SPDX-License-Identifier: Apache-2.0

/// The groups of verbs about passcodes and keys.
enum KeyGroups {
    static let all = [passcode, recovery, device]

    private static let passcode = GroupDeclaration(
        name: "passcode", abstract: "protect the keychain with a passcode",
        discussion: [
            "With a passcode the keychain can be locked, and who has the disk has to guess the "
                + "passcode at the cost of Argon2id. It starts locked after each start of the "
                + "machine: 'valet unlock' opens it for all programs of the user.",
            "A forgotten passcode cannot be asked for anywhere. 'valet recovery create' makes a "
                + "key for paper that stands in for it.",
        ],
        examples: [
            ("valet passcode set", "Asks for a passcode, twice."),
            ("valet passcode change", "Asks for the old one, then twice for the new one."),
        ])

    private static let recovery = GroupDeclaration(
        name: "recovery", abstract: "have a key on paper for when passcode or device key is lost",
        discussion: [
            "A recovery key is 40 characters to write down. It opens the keychain without the "
                + "passcode, and without the device key: then all items come back but those for "
                + "this device only. With the device key at hand only those are lost that need "
                + "the passcode.",
            "Whoever has the paper and the disk has the secrets: keep the paper somewhere else.",
        ],
        examples: [
            ("valet recovery create", "Shows a new recovery key, once."),
            ("valet recovery use", "Asks for it, and brings the keychain back."),
        ])

    private static let device = GroupDeclaration(
        name: "device", abstract: "choose where the device key is kept",
        discussion: [
            "The device key opens the keychain, alone or together with the passcode. It lies in a "
                + "file of the keychain's own unless it was bound to a systemd credential, to a "
                + "file that an administrator keeps, or to the machine's TPM. Who has the "
                + "keychain's files but not the device key has nothing."
        ],
        examples: [
            ("valet device status", "Where it comes from, and whether it is there."),
            ("valet device bind --key-file /run/secrets/valet.key", "Takes it from there."),
        ])
}
