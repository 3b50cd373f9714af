// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices

/// `valet entitlements init PROGRAM IDENTIFIER`.
enum EntitlementsInitCommand {
    static let group = GroupDeclaration(
        name: "entitlements", abstract: "set a program's identifier and access groups",
        discussion: [
            "Linux programs have no signature. A program's identifier is the one that its code or "
                + "its entitlements file declares, else the id of its Flatpak or Snap, else the "
                + "identifier in its Info.plist, else its file name. Access groups, which several "
                + "programs share, are in its entitlements file."
        ],
        examples: [
            (
                "valet entitlements init .build/release/mail com.example.mail",
                "The program mail finds its items under com.example.mail."
            )
        ])

    private static let program = ArgumentDeclaration(
        name: "PROGRAM", help: "the executable that gets the Info.plist")
    private static let identifier = ArgumentDeclaration(
        name: "IDENTIFIER", help: "letters, digits, hyphens and periods, as com.example.mail")
    private static let name = OptionDeclaration(
        name: "name", valueName: "NAME", help: "CFBundleName (default: the executable's name)")
    private static let version = OptionDeclaration(
        name: "bundle-version", valueName: "VERSION",
        help: "CFBundleVersion and CFBundleShortVersionString", defaultValue: "1.0")
    private static let force = OptionDeclaration(
        name: "force", letter: "f", help: "replace an existing file")

    static let declaration = CommandDeclaration(
        name: "entitlements init", abstract: "write an Info.plist with a program's identifier",
        discussion: [
            "Writes Contents/Info.plist beside PROGRAM; for a program in X.app/Contents/Linux, "
                + "X.app/Contents/Info.plist. Foundation reads it: without such a file "
                + "Bundle.main.bundleIdentifier is nil on Linux. The keychain takes the "
                + "application's identifier from it, unless the code, an entitlements file, a "
                + "Flatpak or a Snap declares one.",
            "The identifier counts for PROGRAM alone, although Bundle.main of programs beside it "
                + "reads the same file. Under its new identifier the program does not find the "
                + "items that it stored before: 'valet migrate' moves them.",
        ],
        arguments: [program, identifier],
        options: [name, version, force],
        exitCodes: [
            (.notFound, "no such program"),
            (.alreadyThere, "the program has an Info.plist already"),
        ],
        examples: group.examples)

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        guard let path = values[program], !path.isEmpty else { throw .usage("PROGRAM is empty") }
        let identifier = values[Self.identifier] ?? ""
        guard !identifier.isEmpty, identifier.utf8.allSatisfy(isAllowed) else {
            throw .usage(
                "IDENTIFIER must be letters, digits, hyphens and periods",
                hint: "use a reversed domain name: com.example.mail")
        }
        let (name, version) = (try printable(values, name), try printable(values, version))
        let isReplacing = values.has(force)
        guard let program = BundleInformation.program(at: path) else {
            throw CLIError(
                .notFound, "there is no program at \(quoted(path))",
                hint: "build it first, and give the path of the executable")
        }
        let present = BundleInformation.existingPath(ofProgram: program)
        if let present, !isReplacing { throw alreadyThere(present) }
        var information = BundleInformation(identifier: identifier, program: program)
        if let name { information.name = name }
        if let version { information.version = version }
        let list = BundleInformation.pathToCreate(forProgram: program)
        let isWritten = try requesting(information.write(to: list, replacing: isReplacing))
        guard isWritten else { throw alreadyThere(list) }
        context.console.note("valet: wrote \(quoted(list))")
        return .success
    }

    /// The value of an option. XML cannot represent control characters.
    private static func printable(
        _ values: ParsedValues, _ option: OptionDeclaration
    ) throws(CLIError) -> String? {
        guard let text = values[option] else { return nil }
        guard text.unicodeScalars.allSatisfy({ $0.value >= 0x20 }) else {
            throw .usage("the value of '\(option.spelling)' has control characters")
        }
        return text
    }

    private static func alreadyThere(_ path: String) -> CLIError {
        CLIError(
            .alreadyThere, "the program has an Info.plist already: \(quoted(path))",
            hint: "'--force' replaces it")
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
