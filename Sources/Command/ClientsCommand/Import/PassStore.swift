// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI
internal import ValetSealing
internal import ValetSystem

/// The store of `pass`, the password manager: a folder of files that gpg decrypts. Each file
/// becomes a secret with its path as name.
struct PassStore {
    /// Without a slash at its end.
    private let folder: String
    private let scope: Scope
    private let skipsUnreadable: Bool

    private static let gpgPaths = ["/usr/bin/gpg", "/usr/local/bin/gpg"]
    private static let maximumByteCount = 16 << 20
    /// How long gpg may take for one file, with the question for a passphrase.
    private static let patience = Duration.seconds(180)
    /// What gpg and the programs that ask for its passphrase need.
    private static let variables = [
        "HOME", "PATH", "GNUPGHOME", "GPG_TTY", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "DISPLAY",
        "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    ]

    /// - Parameter skipsUnreadable: Whether the import leaves out files that gpg cannot decrypt.
    init(folder: String?, skipsUnreadable: Bool, _ scope: Scope) throws(CLIError) {
        let environment = Environment.ofProcess
        let standard =
            environment.text("PASSWORD_STORE_DIR")
            ?? environment.text("HOME").map { $0 + "/.password-store" }
        guard let path = folder ?? standard, !path.isEmpty else {
            throw .usage("expected the folder of the store")
        }
        self.folder = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        self.scope = scope
        self.skipsUnreadable = skipsUnreadable
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
            try found.add(ImportedItem(key, value.withoutOnlyNewline, in: scope, from: name))
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

extension SecretValue {
    /// The value without its line end if it is one line of text, otherwise the value itself.
    fileprivate var withoutOnlyNewline: SecretValue {
        withBytes { bytes in
            guard bytes.firstIndex(of: UInt8(ascii: "\n")) == bytes.count - 1 else { return self }
            let isCRLF = bytes.count > 1 && bytes[bytes.count - 2] == UInt8(ascii: "\r")
            return SecretValue(copying: bytes.extracting(0..<(bytes.count - (isCRLF ? 2 : 1))))
        }
    }
}
