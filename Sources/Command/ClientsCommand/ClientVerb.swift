// SPDX-License-Identifier: Apache-2.0

package import ValetCLI

/// A verb for programs that keep their passwords in the keychain (git, docker, the tools of AWS),
/// or one that exchanges secrets with other programs.
package enum ClientVerb: String, CaseIterable, Sendable {
    case gitCredential = "git-credential"
    case dockerCredential = "docker-credential"
    case awsGet = "aws-credentials get"
    case awsStore = "aws-credentials store"
    case awsRemove = "aws-credentials remove"
    case importItems = "import"
    case exportItems = "export"

    var declaration: CommandDeclaration {
        switch self {
        case .gitCredential: ClientHelp.gitCredential
        case .dockerCredential: ClientHelp.dockerCredential
        case .awsGet: AWSHelp.get
        case .awsStore: AWSHelp.store
        case .awsRemove: AWSHelp.remove
        case .importItems: ImportHelp.declaration
        case .exportItems: ExportHelp.declaration
        }
    }

    /// More than git, docker or the tools of AWS send in one call.
    static let maximumByteCount = 1 << 20

    /// All verbs, for the program `valet`.
    package static var all: AddedVerbs {
        AddedVerbs(allCases.map(\.declaration), groups: [AWSHelp.group]) {
            (name, values, context) throws(CLIError) in
            switch ClientVerb(rawValue: name) {
            case .gitCredential: return try GitCredentials(values, context).run()
            case .dockerCredential: return DockerCredentials.run(values, context)
            case .importItems: return try ImportVerb(values, context).run()
            case .exportItems where values.isGiven(ExportHelp.to):
                return try KeyringExport(values, context).run()
            case .exportItems: return try ExportVerb(values, context).run()
            case .awsGet: try AWSKeys(values, context).write()
            case .awsStore: try AWSKeys(values, context).store()
            case .awsRemove: try AWSKeys(values, context).remove()
            case nil: return .failure
            }
            return .success
        }
    }

    /// The words of `valet` that stand for a call under another program name: git and docker start
    /// their helpers by fixed names, which are links to `valet`.
    package static func words(ofProgram name: String, _ arguments: [String?]) -> [String?] {
        switch name {
        case "git-credential-valet": return [gitCredential.rawValue] + arguments
        case "docker-credential-valet":
            // docker's own helpers take the operation `version` as an option, too.
            let asksVersion = arguments == ["--version"] || arguments == ["-v"]
            return [dockerCredential.rawValue] + (asksVersion ? ["version"] : arguments)
        default: return arguments
        }
    }
}

enum ClientOptions {
    static let operation = ArgumentDeclaration(
        name: "OPERATION", help: "what the client asks for")
    static let accessibility = OptionDeclaration(
        name: "accessibility", valueName: "CLASS",
        help: "when passwords that this call adds can be read",
        defaultValue: ItemOptions.accessibility.defaultValue,
        choices: ItemOptions.accessibility.choices)
    static let cloud = OptionDeclaration(
        name: "cloud", help: "share passwords that this call adds, with 'valet sync'")

    /// The options that choose an owner, and the kind of new items.
    static let all = [ItemOptions.application, ItemOptions.group, accessibility, cloud]

    static let lockedDiscussion =
        "A locked keychain is an error at once, also at a terminal: the client then asks for the "
        + "password itself. Where each program unlocks the keychain for itself, "
        + "$VALET_PASSCODE_FD brings the passcode."
}

enum ClientHelp {
    static let gitCredential = CommandDeclaration(
        name: "git-credential", abstract: "keep passwords for git",
        discussion: [
            "A credential helper of git: 'git-credential-valet' is another name of it. Git calls "
                + "it with get, store or erase, and a description on standard input "
                + "(gitcredentials(7)). The operation 'capability' lists what it understands. "
                + "Unknown operations do nothing.",
            "'git config --global credential.helper valet' makes git use it everywhere. Where that "
                + "name is not installed, the helper is '!valet git-credential'.",
            "A password is an internet password with the server, protocol, port, path and account "
                + "that git names, as on macOS. The path counts if git sends it "
                + "(credential.useHttpPath). Expiry dates, OAuth refresh tokens, and credentials "
                + "with an authtype are kept as well.",
            "Refuses carriage returns and null bytes, in what git sends and in what it would "
                + "get.",
            ClientOptions.lockedDiscussion,
        ],
        arguments: [ClientOptions.operation], options: ClientOptions.all,
        exitCodes: [(.success, "success, also if there is no such password")],
        examples: [("valet git-credential get < description.txt", "What git does.")])

    static let dockerCredential = CommandDeclaration(
        name: "docker-credential", abstract: "keep passwords for docker",
        discussion: [
            "A credential helper of docker: 'docker-credential-valet' is another name of it. "
                + "Docker calls it with get, store, erase, list or version. Podman, buildah and "
                + "other programs use the same protocol.",
            "The member \"credsStore\": \"valet\" of ~/.docker/config.json makes docker use it.",
            "A password is an internet password with the label 'Docker Credentials', and the "
                + "server, protocol, port, path and account of the registry, as on macOS. A "
                + "registry has one account.",
            "Errors are on standard output, where docker looks for them.",
            ClientOptions.lockedDiscussion,
        ],
        arguments: [ClientOptions.operation], options: ClientOptions.all,
        exitCodes: [(.failure, "failure; the message is on standard output")],
        examples: [("valet docker-credential list", "Shows the accounts, as JSON.")])
}

enum AWSHelp {
    static let profile = ArgumentDeclaration(
        name: "PROFILE", help: "a name for the keys, such as that of the profile")

    static let group = GroupDeclaration(
        name: "aws-credentials", abstract: "keep access keys for the tools of AWS",
        discussion: [
            "The tools and libraries of AWS run the 'credential_process' of a profile when they "
                + "need keys. Stores keys once, and hands them to these tools without a file in "
                + "~/.aws."
        ],
        examples: [
            ("valet aws-credentials store work", "Asks for both keys."),
            (
                "credential_process = /usr/bin/valet aws-credentials get work",
                "In ~/.aws/config, below [profile work]."
            ),
        ])

    static let get = CommandDeclaration(
        name: "aws-credentials get", abstract: "write keys as a credential_process does",
        discussion: [
            "Writes one JSON object: Version, AccessKeyId, SecretAccessKey, AccountId if it is "
                + "known and, for temporary keys, SessionToken and Expiration. Expired keys are an "
                + "error.",
            ClientOptions.lockedDiscussion,
        ],
        arguments: [profile], options: [ItemOptions.application, ItemOptions.group],
        exitCodes: [(.notFound, "no keys with that name")],
        examples: [("valet aws-credentials get work", "Shows the keys.")])

    static let store = CommandDeclaration(
        name: "aws-credentials store", abstract: "store keys",
        discussion: [
            "At a terminal, asks for both keys without echo. Otherwise reads JSON "
                + "from standard input: the output of a credential_process, of 'aws sts', 'aws "
                + "sso' or 'aws iam create-access-key'. Replaces keys with that name.",
            "A secret is never read from the command line or the environment.",
        ],
        arguments: [profile], options: ClientOptions.all,
        examples: [
            ("valet aws-credentials store work", "Asks for both keys."),
            (
                "aws sts get-session-token | valet aws-credentials store session",
                "Stores temporary keys."
            ),
        ])

    static let remove = CommandDeclaration(
        name: "aws-credentials remove", abstract: "remove keys",
        arguments: [profile], options: [ItemOptions.application, ItemOptions.group],
        exitCodes: [(.notFound, "no keys with that name")],
        examples: [("valet aws-credentials remove work", "Removes the keys.")])
}
