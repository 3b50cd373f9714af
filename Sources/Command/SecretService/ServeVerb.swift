// SPDX-License-Identifier: Apache-2.0

package import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetSystem

/// `valet serve`.
package enum ServeVerb {
    private static let replace = OptionDeclaration(
        name: "replace", help: "take the place of a service that runs, if it permits that")
    private static let idleExit = OptionDeclaration(
        name: "idle-exit", valueName: "DURATION",
        help: "end when no program has called for that time, and none needs what is in memory")
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
                    + "desktop.",
                "A locked keychain is unlocked by a question of pinentry when a program asks for "
                    + "it, and by 'valet unlock'.",
            ],
            options: [replace, idleExit, install, uninstall],
            exitCodes: [
                (.success, "--idle-exit, the bus or another program has ended the service"),
                (.notFound, "there is no session bus"),
                (.alreadyThere, "another program is the service, and --replace is missing"),
            ],
            examples: [
                ("valet serve --install", "From now on programs find the service by themselves."),
                ("valet serve --replace", "In place of gnome-keyring, until Ctrl-C."),
            ])
    }

    package static func run(
        _ values: ParsedValues, _ context: Context
    ) throws(CLIError) -> ExitCode {
        let (isInstalling, isUninstalling) = (values.has(install), values.has(uninstall))
        guard !isInstalling || !isUninstalling else {
            throw .usage("'--install' and '--uninstall' exclude each other")
        }
        if isInstalling { return try Installation().install(context.console) }
        if isUninstalling { return try Installation().uninstall(context.console) }
        let idle = try DurationText.value(of: idleExit, in: values)
        let session = try requesting(
            KeychainSession.current(
                onBehalfOf: SecretService.busName, accessGroups: [DesktopItem.group]))
        do {
            let service = try SecretService(
                session, replacing: values.has(replace), context.console.note)
            context.console.note("valet: programs of this session can keep secrets here now")
            try service.run(idle: idle)
            return .success
        } catch {
            throw failure(error)
        }
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

/// The files by which a session starts the service.
private struct Installation {
    private let program: String
    private let activation: (folder: String, name: String)
    private let unit: (folder: String, name: String)
    /// For Flatpaks: the activation of the portal's backend, and its description.
    private let portal: [(file: (folder: String, name: String), text: String)]

    private static let unitName = "valet-secret-service.service"

    init() throws(CLIError) {
        guard let program = FilePath.target(ofLink: "/proc/self/exe") else {
            throw CLIError(.failure, "the path of this program cannot be read")
        }
        self.program = program
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
        let data = folder("XDG_DATA_HOME", "/.local/share")
        activation = (data + "/dbus-1/services", SecretService.busName + ".service")
        portal = [
            (
                (data + "/dbus-1/services", Portal.busName + ".service"),
                Self.activation(of: Portal.busName, program)
            ), ((data + "/xdg-desktop-portal/portals", "valet.portal"), Portal.description),
        ]
        unit = (folder("XDG_CONFIG_HOME", "/.config") + "/systemd/user", Self.unitName)
    }

    func install(_ console: any Console) throws(CLIError) -> ExitCode {
        guard try isOwn(activation) else {
            throw CLIError(
                .alreadyThere, "\(path(activation)) starts another service",
                hint: "remove the file first, if programs are to ask valet")
        }
        try write(Self.activation(of: SecretService.busName, program), to: activation, console)
        for (file, text) in portal { try write(text, to: file, console) }
        try write(
            """
            [Unit]
            Description=Secrets for programs, from the keychain of valet
            Documentation=man:valet-serve(1)

            [Service]
            Type=dbus
            BusName=\(SecretService.busName)
            ExecStart=\(UnitText.quoted(program)) serve
            NoNewPrivileges=yes
            LimitCORE=0

            """, to: unit, console)
        console.note("valet: the session starts the service when a program asks for it")
        console.hint(
            "a keyring that runs already stays until the next session, or 'valet serve "
                + "--replace'")
        return .success
    }

    private static func activation(of name: String, _ program: String) -> String {
        """
        [D-BUS Service]
        Name=\(name)
        Exec='\(program.split(separator: "'", omittingEmptySubsequences: false)
            .joined(separator: #"'\''"#))' serve
        SystemdService=\(unitName)

        """
    }

    func uninstall(_ console: any Console) throws(CLIError) -> ExitCode {
        for file in [activation, unit] + portal.map(\.file) where try isOwn(file) {
            let path = path(file)
            do {
                if try FilePath.remove(path) { console.note("valet: removed \(path)") }
            } catch {
                throw CLIError(.failure, "\(error)", hint: error.hint)
            }
        }
        return .success
    }

    private func path(_ file: (folder: String, name: String)) -> String {
        file.folder + "/" + file.name
    }

    /// Whether the file may be replaced or removed: an activation file that names another unit is
    /// another program's.
    ///
    /// - Returns: true also for no file.
    private func isOwn(_ file: (folder: String, name: String)) throws(CLIError) -> Bool {
        guard file == activation, let text = TextFile.contents(path(file)) else { return true }
        return text.split(separator: "\n").contains("SystemdService=\(Self.unitName)")
    }

    private func write(
        _ text: String, to file: (folder: String, name: String), _ console: any Console
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
