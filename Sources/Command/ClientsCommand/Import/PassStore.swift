// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI
internal import ValetSealing
internal import ValetSystem

/// The store of `pass` or gopass: a folder of files that gpg decrypts. Each file becomes a secret
/// with its path as name. ``PassEntry`` takes a file apart.
struct PassStore {
    /// Without a slash at its end.
    private let folder: String
    private let scope: Scope
    private let skipsUnreadable: Bool
    /// Whether an entry is one value, with all its lines.
    private let keepsWhole: Bool

    private static let gpgPaths = ["/usr/bin/gpg", "/usr/local/bin/gpg"]
    private static let maximumByteCount = 16 << 20
    /// How long gpg may take for one file, with the question for a passphrase.
    private static let patience = Duration.seconds(180)
    /// What gpg and the programs that ask for its passphrase need.
    private static let variables = [
        "HOME", "PATH", "GNUPGHOME", "GPG_TTY", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "DISPLAY",
        "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    ]

    init(_ values: ParsedValues, _ scope: Scope) throws(CLIError) {
        let isGopass = values[ImportHelp.from] == "gopass"
        let standard = isGopass ? Self.folderOfGopass : Self.folderOfPass
        guard let path = values[ImportHelp.file] ?? standard, !path.isEmpty else {
            throw .usage("expected the folder of the store")
        }
        folder = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        self.scope = scope
        skipsUnreadable = values.has(ImportHelp.skipUnreadable)
        keepsWhole = values.has(ImportHelp.whole)
    }

    private static var folderOfPass: String? {
        let environment = Environment.ofProcess
        return environment.text("PASSWORD_STORE_DIR")
            ?? environment.text("HOME").map { $0 + "/.password-store" }
    }

    private static var folderOfGopass: String? {
        let environment = Environment.ofProcess
        let data =
            environment.text("XDG_DATA_HOME")
            ?? environment.text("HOME").map { $0 + "/.local/share" }
        let own = data.map { $0 + "/gopass/stores/root" }
        // Older versions share the folder of pass.
        return own.flatMap { FileIdentity(of: $0) == nil ? nil : $0 } ?? folderOfPass
    }

    /// All entries, in the order of their names.
    func read(_ console: any Console) throws(CLIError) -> ImportedItems {
        guard let gpg = Self.gpgPaths.first(where: GivenFile.isProgram) else {
            throw CLIError(
                .failure, "there is no gpg in /usr/bin", hint: "install the package gpg")
        }
        var (names, found) = try PassListing(folder).read()
        let line = ProgressLine("decrypting", on: console)
        defer { line.end() }
        var readCount = 0
        for (count, name) in names.sorted().enumerated() {
            line.show(count, of: names.count)
            guard let value = try decrypt(name, gpg) else {
                guard skipsUnreadable else { throw Self.unreadable(name) }
                found.skip(name, "gpg could not decrypt it")
                continue
            }
            readCount += 1
            let key = String(name.dropLast(".gpg".count))
            let entry = PassEntry(value, isWhole: keepsWhole)
            var item = ImportedItem(key, entry.value, in: scope, from: name)
            item.fields = entry.fields
            try found.add(item)
        }
        // If gpg can decrypt no file, the import fails: it would skip them all.
        if readCount == 0, let first = names.first { throw Self.unreadable(first) }
        return found
    }

    private static func unreadable(_ name: String) -> CLIError {
        CLIError(
            .failure, "gpg could not decrypt \(quoted(name)): nothing was changed",
            hint: "'gpg --decrypt' shows why; '--skip-unreadable' leaves out what others only can "
                + "decrypt")
    }

    /// The contents of a file; nil if gpg cannot decrypt it.
    private func decrypt(_ name: String, _ gpg: String) throws(CLIError) -> SecretValue? {
        let environment = Self.variables.compactMap { variable in
            Environment.ofProcess.value(variable).map { "\(variable)=\($0)" }
        }
        let deadline = Deadline(after: Self.patience)
        do {
            let child = try ChildProcess(
                path: gpg,
                arguments: ["--quiet", "--batch", "--decrypt", "--", "\(folder)/\(name)"],
                environment: environment)
            // ``ImportedItems`` skips a secret that is larger.
            let output = try SecretValue.read(
                from: child.output, atMost: Self.maximumByteCount, until: deadline)
            // gpg waits to write the rest of a larger secret, and is ended.
            guard output.byteCount <= Self.maximumByteCount else { return output }
            return child.exitCode(before: deadline) == 0 ? output : nil
        } catch {
            guard error.code != .timedOut else { return nil }
            throw CLIError(.failure, "gpg cannot be run: \(error)")
        }
    }
}
