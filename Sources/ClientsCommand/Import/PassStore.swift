// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI
internal import ValetSecretMemory
internal import ValetSystem
internal import ValetUserPresence

/// The store of `pass`, the password manager: a folder of files that gpg decrypts. Each file
/// becomes a secret with its path as name.
struct PassStore {
    private let folder: String
    private let scope: Scope

    private static let gpgPaths = ["/usr/bin/gpg", "/usr/local/bin/gpg"]
    private static let maximumDepth = 32
    private static let maximumByteCount = 16 << 20
    /// How long gpg may take for one file, with the question for a passphrase.
    private static let patience = Duration.seconds(180)
    /// What gpg and the programs that ask for its passphrase need.
    private static let variables = [
        "HOME", "PATH", "GNUPGHOME", "GPG_TTY", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "DISPLAY",
        "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    ]

    init(folder: String?, _ scope: Scope) throws(CLIError) {
        let environment = Environment.ofProcess
        let standard =
            environment.value("PASSWORD_STORE_DIR")
            ?? environment.value("HOME").map { $0 + "/.password-store" }
        guard let path = folder ?? standard, !path.isEmpty else {
            throw .usage("expected the folder of the store")
        }
        self.folder = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        self.scope = scope
    }

    /// All entries, in the order of their names.
    func read(_ console: any Console) throws(CLIError) -> ImportedItems {
        guard let gpg = Self.gpgPaths.first(where: GivenFile.isProgram) else {
            throw CLIError(
                .failure, "there is no gpg in /usr/bin", hint: "install the package gpg")
        }
        var names: [String] = []
        var found = ImportedItems()
        try list("", depth: 0, &names, &found)
        let line = ProgressLine("decrypting", on: console)
        defer { line.end() }
        for (count, name) in names.sorted().enumerated() {
            line.show(count, of: names.count)
            let value = try decrypt(name, gpg)
            let key = String(name.dropLast(".gpg".count))
            try found.add(ImportedItem(key, value.withoutOnlyNewline, in: scope, from: name))
        }
        return found
    }

    /// Collects the files below a folder of the store. Follows no links to folders.
    private func list(
        _ path: String, depth: Int, _ names: inout [String], _ found: inout ImportedItems
    ) throws(CLIError) {
        let place = path.isEmpty ? folder : "\(folder)/\(path)"
        guard depth < Self.maximumDepth, let entries = NamedFile.entries(of: place) else {
            if depth > 0 { return found.skip(path, "the folder cannot be read") }
            throw CLIError(
                .notFound, "there is no store of pass in \(quoted(folder))",
                hint: "name its folder after the options")
        }
        for (name, isFolder) in entries where !name.hasPrefix(".") {
            let inner = path.isEmpty ? name : "\(path)/\(name)"
            if isFolder {
                try list(inner, depth: depth + 1, &names, &found)
            } else if name.hasSuffix(".gpg"), name.count > ".gpg".count {
                guard names.count < ImportedItems.maximumCount else {
                    throw .usage("the store has too many entries")
                }
                names.append(inner)
            }
        }
    }

    private func decrypt(_ name: String, _ gpg: String) throws(CLIError) -> SecretValue {
        let environment = Self.variables.compactMap { variable in
            Environment.ofProcess.value(variable).map { "\(variable)=\($0)" }
        }
        let deadline = Deadline(after: Self.patience)
        var output = SecretInput(capacity: 4 << 10)
        do {
            let child = try ChildProcess(
                path: gpg,
                arguments: ["--quiet", "--batch", "--decrypt", "--", "\(folder)/\(name)"],
                environment: environment)
            while case .ready = WaitLimit(until: deadline).wait(for: child.output),
                try output.read(from: child.output) > 0
            {
                guard output.byteCount <= Self.maximumByteCount else {
                    throw CLIError.usage("\(quoted(name)) is larger than 16 MiB")
                }
            }
            if child.exitCode(before: deadline) == 0 {
                let count = output.byteCount
                return output.value(byteCount: count)
            }
        } catch let error as CLIError {
            throw error
        } catch {
            throw CLIError(.failure, "gpg cannot be run: \(error)")
        }
        throw CLIError(
            .failure, "gpg could not decrypt \(quoted(name))",
            hint: "'gpg --decrypt' shows why; nothing was changed")
    }
}

extension SecretValue {
    /// The value without its newline, if it is one line of text; else the value itself.
    fileprivate var withoutOnlyNewline: SecretValue {
        withBytes { bytes in
            guard bytes.firstIndex(of: UInt8(ascii: "\n")) == bytes.count - 1 else { return self }
            return SecretValue(copying: bytes.extracting(0..<(bytes.count - 1)))
        }
    }
}
