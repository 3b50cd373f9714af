// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing
internal import ValetSystem

/// The archive `.1pux` of 1Password: a ZIP file that `unzip` opens.
enum OnePasswordArchive {
    private static let program = "/usr/bin/unzip"
    private static let member = "export.data"
    private static let patience = Duration.seconds(120)

    /// The document in the archive.
    ///
    /// - Throws: ``ExitCode/damaged`` for an archive without one.
    static func document(in path: String) throws(CLIError) -> SecretValue {
        guard GivenFile.isProgram(program) else {
            throw CLIError(
                .failure, "\(quoted(path)) is a ZIP archive, and there is no \(program)",
                hint: "install the package unzip, or unpack it and import \(member)")
        }
        let deadline = Deadline(after: patience)
        do {
            // A name such as '-x' is no option.
            let child = try ChildProcess(
                path: program, arguments: ["-p", path.hasPrefix("/") ? path : "./\(path)", member],
                environment: ["LC_ALL=C.UTF-8"])
            let output = try SecretValue.read(
                from: child.output, atMost: ImportSource.maximumByteCount, until: deadline)
            guard output.byteCount <= ImportSource.maximumByteCount else {
                let limit = ImportSource.maximumByteCount >> 20
                throw CLIError.usage("\(member) in \(quoted(path)) is larger than \(limit) MiB")
            }
            guard child.exitCode(before: deadline) == 0, output.byteCount > 0 else {
                throw CLIError(
                    .damaged,
                    "\(quoted(path)) is an archive, and none of 1Password: nothing was imported",
                    hint: "unpack it, and import the file in it")
            }
            return output
        } catch let error as CLIError {
            throw error
        } catch {
            throw CLIError(.failure, "unzip cannot be run: \(error)")
        }
    }
}
