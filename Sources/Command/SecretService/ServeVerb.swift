// SPDX-License-Identifier: Apache-2.0

package import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

/// `valet serve`.
package enum ServeVerb {
    private static let replace = OptionDeclaration(
        name: "replace", help: "take the place of a service that runs, if it permits that")
    private static let idleExit = OptionDeclaration(
        name: "idle-exit", valueName: "DURATION",
        help: "end when no program has called for that time, and none needs what is in memory")
    private static let shareGroup = OptionDeclaration(
        name: "share-group", valueName: "GROUP",
        help: "also let programs read the passwords of that access group; may be repeated",
        isRepeatable: true)
    private static let install = OptionDeclaration(
        name: "install", help: "have the session start the service when a program needs it")
    private static let uninstall = OptionDeclaration(
        name: "uninstall", help: "take back what --install wrote")

    package static var declaration: CommandDeclaration {
        CommandDeclaration(
            name: "serve",
            abstract: "answer programs that ask for the Secret Service (org.freedesktop.secrets)",
            discussion: [
                "Browsers, secret-tool, libsecret and other programs then keep their passwords in "
                    + "the keychain. Runs until a signal, until --idle-exit, or until another "
                    + "program takes its place.",
                "The programs see the secrets that they store, not those of valets: they are items "
                    + "of the access group \(DesktopItem.group.rawValue). Programs of one user "
                    + "can read each other's secrets through the service, as everywhere on the "
                    + "desktop. A file says otherwise: $XDG_CONFIG_HOME/valet/"
                    + "secret-service.policy, by default in ~/.config.",
                "Each line of that file is 'allow', 'ask' or 'deny', a collection or '*', and a "
                    + "program: its path, 'flatpak:ID', 'snap:NAME' or '*'. The first line for the "
                    + "program and the collection counts; without one the program is allowed. "
                    + "'log reads' notes each secret that a program gets. The file may change "
                    + "while the service runs.",
                "A locked keychain is unlocked by a question of pinentry when a program asks for "
                    + "it, and by 'valet unlock'.",
            ],
            options: [replace, idleExit, shareGroup, install, uninstall],
            exitCodes: [
                (.success, "--idle-exit, the bus or another program has ended the service"),
                (.notFound, "there is no session bus"),
                (.alreadyThere, "another program is the service, and stays it"),
            ],
            examples: [
                ("valet serve --install", "From now on programs find the service by themselves."),
                ("valet serve --replace", "Now, in place of a service that permits it."),
                (
                    "valet serve --install --share-group com.example.app",
                    "Programs also read the passwords of that group."
                ),
            ])
    }

    package static func run(
        _ values: ParsedValues, _ context: Context
    ) throws(CLIError) -> ExitCode {
        let (isInstalling, isUninstalling) = (values.has(install), values.has(uninstall))
        guard !isInstalling || !isUninstalling else {
            throw .usage("'--install' and '--uninstall' exclude each other")
        }
        let idle = try DurationText.value(of: idleExit, in: values)
        let groups = try sharedGroups(values)
        if isUninstalling { return try Installation().uninstall(context.console) }
        let policy = try checkedPolicy()
        if isInstalling {
            let words =
                (values[idleExit].map { ["--idle-exit", $0] } ?? [])
                + groups.flatMap { ["--share-group", $0.rawValue] }
            return try Installation().install(context.console, serving: words)
        }
        let session = try requesting(
            KeychainSession.current(
                onBehalfOf: SecretService.busName, accessGroups: [DesktopItem.group] + groups))
        let configuration = try UserFolders().configuration
        do {
            let holdings = Holdings(session, sharing: groups)
            let service = try SecretService(
                .secrets, holdings, policy, replacing: values.has(replace), context.console.note)
            let portal = try PortalThread(
                holdings, policyIn: configuration, service.noter)
            context.console.note("valet: programs of this session can keep secrets here now")
            warnOfMemory(context.console)
            defer { portal.end(before: Deadline(after: SecretService.longestEnd)) }
            try service.run(idle: idle)
            return .success
        } catch {
            throw failure(error)
        }
    }

    /// A service keeps secrets in memory for a long time.
    private static func warnOfMemory(_ console: any Console) {
        let finding = Finding.memory
        guard finding.severity != .fine else { return }
        console.note(
            "valet: warning: secrets in memory may be written to the swap on the disk: the system "
                + "lets this service lock no memory")
        if let hint = finding.hint { console.hint(hint) }
    }

    private static func sharedGroups(_ values: ParsedValues) throws(CLIError) -> [AccessGroup] {
        var groups: [AccessGroup] = []
        for name in values.list(shareGroup) {
            // The name is written into files of other programs.
            let isPlain = name.allSatisfy { letter in
                letter.isASCII && (letter.isLetter || letter.isNumber || ".-_".contains(letter))
            }
            let group = try ItemOptions.group(name, of: shareGroup)
            let isNew = !groups.contains {
                Holdings.collection(of: $0) == Holdings.collection(of: group)
            }
            guard isPlain, isNew, group != DesktopItem.group else {
                throw .usage("'\(shareGroup.spelling)' does not take \(quoted(name))")
            }
            groups.append(group)
        }
        return groups
    }

    /// The policy's file, if it can be used now.
    private static func checkedPolicy() throws(CLIError) -> PolicyFile {
        let configuration = try UserFolders().configuration
        let policy: PolicyFile
        do {
            policy = try PolicyFile(in: configuration)
        } catch {
            throw failure(error)
        }
        _ = policy.current()
        guard let problem = policy.problem else { return policy }
        throw CLIError(
            .usage, "\(policy.path): \(problem.message)",
            hint: problem.hint ?? "'valet serve --help' explains the file")
    }

    private static func failure(_ error: SystemError) -> CLIError {
        let code: ExitCode =
            switch error.code {
            case .busAbsent: .notFound
            case _ where error.code.refusal != nil: .alreadyThere
            default: .failure
            }
        let message =
            code == .alreadyThere
            ? "another program is the Secret Service of this session" : "\(error)"
        return CLIError(code, message, hint: error.hint)
    }
}

/// Where the user's files are (XDG Base Directory Specification).
private struct UserFolders {
    let configuration: String
    let data: String

    init() throws(CLIError) {
        let environment = Environment.ofProcess
        guard let home = environment.value("HOME"), home.hasPrefix("/") else {
            throw CLIError(.failure, "$HOME names no folder")
        }
        func folder(_ variable: String, _ usual: String) -> String {
            guard let path = environment.value(variable), path.hasPrefix("/") else {
                return home + usual
            }
            return path
        }
        configuration = folder("XDG_CONFIG_HOME", "/.config")
        data = folder("XDG_DATA_HOME", "/.local/share")
    }
}

/// The files by which a session starts the service.
private struct Installation {
    private typealias File = (folder: String, name: String)

    private let program: String
    private let activation: File
    private let unit: File
    /// For Flatpaks: what starts the portal's backend, and what describes it.
    private let portal: (activation: File, description: File)

    private static let unitName = "valet-secret-service.service"

    init() throws(CLIError) {
        guard let program = FilePath.target(ofLink: "/proc/self/exe") else {
            throw CLIError(.failure, "the path of this program cannot be read")
        }
        self.program = program
        let folders = try UserFolders()
        let services = folders.data + "/dbus-1/services"
        activation = (services, SecretService.busName + ".service")
        portal = (
            (services, Portal.busName + ".service"),
            (folders.data + "/xdg-desktop-portal/portals", "valet.portal")
        )
        unit = (folders.configuration + "/systemd/user", Self.unitName)
    }

    /// - Parameter words: Further words of `valet serve`, which need no quotes.
    func install(
        _ console: any Console, serving words: [String]
    ) throws(CLIError) -> ExitCode {
        guard try isOwn(activation) else {
            throw CLIError(
                .alreadyThere, "\(path(activation)) starts another service",
                hint: "remove the file first, if programs are to ask valet")
        }
        // The files that lead to the unit come last: a failure leaves none that leads to nothing.
        try write(
            """
            [Unit]
            Description=Secrets for programs, from the keychain of valet
            Documentation=man:valet-serve(1)

            [Service]
            Type=dbus
            BusName=\(SecretService.busName)
            ExecStart=\(([UnitText.quoted(program), "serve"] + words).joined(separator: " "))
            NoNewPrivileges=yes
            LimitCORE=0

            """, to: unit, console)
        try write(activation(of: SecretService.busName, words), to: activation, console)
        try write(activation(of: Portal.busName, words), to: portal.activation, console)
        try write(Portal.description, to: portal.description, console)
        console.note("valet: the session starts the service when a program asks for it")
        console.hint(
            "a keyring that runs already stays until the next session, or until you stop it")
        return .success
    }

    private func activation(of name: String, _ words: [String]) -> String {
        """
        [D-BUS Service]
        Name=\(name)
        Exec='\(program.split(separator: "'", omittingEmptySubsequences: false)
            .joined(separator: #"'\''"#))' \((["serve"] + words).joined(separator: " "))
        SystemdService=\(Self.unitName)

        """
    }

    func uninstall(_ console: any Console) throws(CLIError) -> ExitCode {
        var failure: CLIError?
        for file in [activation, unit, portal.activation, portal.description] {
            do {
                try uninstall(file, console)
            } catch {
                failure = failure ?? error
            }
        }
        // The other files are removed nevertheless.
        if let failure { throw failure }
        return .success
    }

    private func uninstall(_ file: File, _ console: any Console) throws(CLIError) {
        let path = path(file)
        guard try isOwn(file) else {
            return console.note("valet: \(path) stays: it starts another service")
        }
        do {
            if try FilePath.remove(path) { console.note("valet: removed \(path)") }
        } catch {
            throw CLIError(.failure, "\(error)", hint: error.hint)
        }
    }

    private func path(_ file: File) -> String {
        file.folder + "/" + file.name
    }

    /// Whether the file may be replaced or removed: an activation file that names another unit is
    /// another program's.
    ///
    /// - Returns: true also for no file.
    /// - Throws: ``ExitCode/failure`` for a file that cannot be read.
    private func isOwn(_ file: File) throws(CLIError) -> Bool {
        let path = path(file)
        guard file == activation, GivenFile.mayExist(path) else { return true }
        guard let text = TextFile.contents(path) else {
            throw CLIError(
                .failure, "\(path) cannot be read: it may start another service",
                hint: "remove the file first")
        }
        return text.split(separator: "\n").contains("SystemdService=\(Self.unitName)")
    }

    private func write(
        _ text: String, to file: File, _ console: any Console
    ) throws(CLIError) {
        let path = path(file)
        do {
            try FilePath.makePublicFolders(to: file.folder)
            var written = try AtomicFile(at: path, replacing: true, isPublic: true)
            try written.append(text.utf8.span)
            try written.commit()
        } catch {
            throw CLIError(.failure, "\(error)", hint: error.hint)
        }
        console.note("valet: wrote \(path)")
    }
}
