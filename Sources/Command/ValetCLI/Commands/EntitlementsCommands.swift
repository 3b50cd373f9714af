// SPDX-License-Identifier: Apache-2.0

// Who a program is to the keychain, and which groups it has: `entitlements add`, `show`, `check`.

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

private enum EntitlementsOptions {
    static let program = ArgumentDeclaration(name: "PROGRAM", help: "the executable")
    static let codeDiscussion =
        "Code that calls ValetKeychain.configure outranks all files, and cannot be seen here."

    /// The entitlements of the program on the command line.
    static func file(
        _ values: ParsedValues
    ) throws(CLIError) -> (program: String, file: EntitlementsFile) {
        guard let path = values[program], !path.isEmpty else { throw .usage("PROGRAM is empty") }
        guard let resolved = BundleInformation.program(at: path) else {
            throw CLIError(
                .notFound, "there is no program at \(quoted(path))",
                hint: "build it first, and give the path of the executable")
        }
        let environment = Environment.ofProcess
        return (resolved, EntitlementsFile(ofProgram: resolved) { environment.value($0) })
    }
}

/// `valet entitlements add PROGRAM`.
enum EntitlementsAddCommand {
    private static let group = OptionDeclaration(
        name: "group", valueName: "PREFIX.GROUP",
        help: "an access group that the program shares with others; may be repeated",
        isRepeatable: true)
    private static let identifier = OptionDeclaration(
        name: "identifier", valueName: "IDENTIFIER", help: "the program's identifier")
    private static let location = OptionDeclaration(
        name: "for", valueName: "WHOM",
        help: "where a new file goes: for the user, for all users of the machine, or beside the "
            + "program",
        defaultValue: EntitlementsFile.Location.user.rawValue,
        choices: EntitlementsFile.Location.allCases.map(\.rawValue))

    static let declaration = CommandDeclaration(
        name: "entitlements add", abstract: "give a program an access group",
        discussion: [
            "Adds groups to the entitlements file that counts for PROGRAM, or makes one. The rest "
                + "of the file stays as it is. The program has the groups from its next start on.",
            "With --for, the file is there, even if another one counts now.",
            EntitlementsOptions.codeDiscussion,
        ],
        arguments: [EntitlementsOptions.program],
        options: [group, identifier, location],
        exitCodes: [
            (.notFound, "no such program"),
            (.failure, "failure, as for a file that cannot be completed"),
            (.denied, "the file is not to be trusted, or is another user's"),
        ],
        examples: [
            (
                "valet entitlements add /usr/bin/mail --group team.shared",
                "The program mail of this user may use the group."
            ),
            (
                "valet entitlements add .build/release/mail --group team.shared --for program",
                "A file beside the program, to install with it."
            ),
        ])

    static func run(_ values: ParsedValues, in context: Context) throws(CLIError) -> ExitCode {
        let (program, file) = try EntitlementsOptions.file(values)
        let groups = values.list(group)
        for name in groups { _ = try ItemOptions.group(name, of: group) }
        guard !groups.isEmpty || values.isGiven(identifier) else {
            throw .usage("expected '--group PREFIX.GROUP' or '--identifier IDENTIFIER'")
        }
        let identifier = values[identifier]
        // XML cannot represent others.
        let isPrintable = (groups + [identifier ?? ""]).allSatisfy { name in
            name.unicodeScalars.allSatisfy { $0.value >= 0x20 }
        }
        guard isPrintable, identifier != "" else {
            throw .usage("a name is empty, or has control characters")
        }
        let location = values[location].flatMap(EntitlementsFile.Location.init) ?? .user
        let known = values.isGiven(Self.location) ? nil : try requesting(file.paths().first)
        var path = known ?? ""
        if known == nil { path = try requesting(file.path(for: location)) }
        let isChanged = try requesting(
            EntitlementsFile.add(groups: groups, identifier: identifier, to: path))
        context.console.note(
            "valet: \(quoted(path)) \(isChanged ? "is written" : "has all of it already")")
        if let first = try requesting(file.paths().first), first != path {
            context.console.note(
                "valet: warning: \(quoted(program)) does not read it, because \(quoted(first)) "
                    + "comes first")
        }
        return .success
    }
}

/// `valet entitlements show PROGRAM`.
enum EntitlementsShowCommand {
    static let declaration = CommandDeclaration(
        name: "entitlements show", abstract: "show a program's identifier and access groups",
        discussion: [
            "Shows which items of the keychain PROGRAM finds: those of its groups. New items go to "
                + "the first one.",
            EntitlementsOptions.codeDiscussion,
        ],
        arguments: [EntitlementsOptions.program], options: [ItemOptions.json],
        schema: [
            ("program", "the executable"), ("identifier", "its identifier"),
            ("source", "where that is from: entitlements, flatpak, snap, bundle or executable"),
            ("path", "the entitlements file or Info.plist that counts, or null"),
            ("groups", "its access groups, the default one first"),
        ],
        exitCodes: [
            (.notFound, "no such program"), (.denied, "a file is not to be trusted"),
            (.failure, "a file cannot be read, and the program cannot use the keychain"),
        ],
        examples: [("valet entitlements show /usr/bin/mail", "Who it is to the keychain.")])

    static func run(_ values: ParsedValues, in context: Context) throws(CLIError) -> ExitCode {
        let (program, file) = try EntitlementsOptions.file(values)
        let identity = try requesting(file.identity())
        let groups = identity.caller.accessGroups.map(\.rawValue)
        let source = identity.source.word
        let isJSON = values.has(ItemOptions.json)
        try StatusReport(fields: [
            .init("program", "Program", .string(program)),
            .init("identifier", "Identifier", .string(identity.caller.applicationIdentifier)),
            .init("source", "Source", .string(source.name), source.path),
            .init("path", nil, .text(source.path)),
            .init(
                "groups", "Groups",
                isJSON
                    ? .array(groups.map(JSON.string)) : .string(groups.joined(separator: ", "))),
        ]).write(to: context.console, asJSON: isJSON)
        return .success
    }
}

/// `valet entitlements check PROGRAM`.
enum EntitlementsCheckCommand {
    static let declaration = CommandDeclaration(
        name: "entitlements check", abstract: "find mistakes in a program's entitlements",
        discussion: [
            "Writes one line for each finding, as 'valet doctor' does. Warnings do not change the "
                + "exit code.",
            EntitlementsOptions.codeDiscussion,
        ],
        arguments: [EntitlementsOptions.program], options: [ItemOptions.json],
        schema: DoctorCommand.schema,
        exitCodes: [
            (.success, "the program can use the keychain"), (.notFound, "no such program"),
            (.failure, "it cannot"),
        ],
        examples: [("valet entitlements check .build/release/mail", "Before it is installed.")])

    static func run(_ values: ParsedValues, in context: Context) throws(CLIError) -> ExitCode {
        let (program, file) = try EntitlementsOptions.file(values)
        var findings: [Finding] = []
        do {
            let identity = try file.identity()
            let name = identity.caller.applicationIdentifier
            let groups = identity.caller.accessGroups
            findings.append(
                Finding(
                    .fine, "the program is \(name), with \(groups.count) access groups",
                    path: identity.source.word.path))
            findings += groups.compactMap(finding)
            findings += ignored(file, identity.source)
            findings += lost(program, name, context)
        } catch {
            findings = [Finding(.broken, "\(error)", hint: error.commandHint)]
        }
        try Finding.write(findings, asJSON: values.has(ItemOptions.json), context.console)
        return findings.contains { $0.severity == .broken } ? .failure : .success
    }

    private static func finding(_ group: AccessGroup) -> Finding? {
        let name = group.rawValue
        if group.isOfKeychain {
            return Finding(.broken, "the group \(name) is the keychain's own")
        }
        guard name.contains("*") else { return nil }
        return Finding(
            .warning, "the group \(name) has a star, which is a character like any other",
            hint: "name each group")
    }

    /// Warnings about the files that do not count.
    private static func ignored(
        _ file: EntitlementsFile, _ source: ApplicationIdentity.Source
    ) -> [Finding] {
        let counting = source.word.path
        let files = ((try? file.paths()) ?? []).filter { $0 != counting }.map { path in
            Finding(
                .warning, "this file is not read, because another one comes first", path: path,
                hint: "'valet entitlements add' completes the one that counts")
        }
        guard let bundle = file.bundlePath, case .executableName = source else { return files }
        return files + [
            Finding(
                .warning, "this Info.plist is of another program, or has no identifier",
                path: bundle, hint: "'valet entitlements init' writes one")
        ]
    }

    /// A warning about items that the program stored before it had its identifier.
    private static func lost(_ program: String, _ name: String, _ context: Context) -> [Finding] {
        let old = String(program.split(separator: "/").last ?? "")
        guard old != name else { return [] }
        // A keychain that is locked, or is not there, tells nothing.
        let session = try? context.session(of: Requester(application: old))
        let found = try? session?.attributes(of: ItemQuery(.genericPassword))
        guard found != nil else { return [] }
        return [
            Finding(
                .warning, "the program does not find the items that \(old) has stored",
                hint: "'valet migrate --app \(old) --to-app \(name)' gives them to it")
        ]
    }
}

extension ApplicationIdentity.Source {
    /// The word for the source in lists, and its file if it has one.
    fileprivate var word: (name: String, path: String?) {
        switch self {
        case .configured: ("code", nil)
        case .entitlements(let path): ("entitlements", path)
        case .flatpak: ("flatpak", nil)
        case .snap: ("snap", nil)
        case .bundle(let path): ("bundle", path)
        case .executableName: ("executable", nil)
        }
    }
}
