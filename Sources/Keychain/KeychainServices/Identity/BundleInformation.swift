// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSystem

/// What an application declares about itself in the `Info.plist` from which Foundation makes
/// `Bundle.main`. ``IdentityResolver`` reads it; `valet entitlements init` writes it.
package struct BundleInformation: Hashable, Sendable {
    package var identifier: String?
    /// `CFBundleExecutable`: the only program that the list is about; nil if it is about every
    /// program beside the list.
    package var executable: String?
    package var name: String?
    /// `CFBundleVersion` and `CFBundleShortVersionString`.
    package var version: String?

    /// The usual information for a program, with the name of its file.
    ///
    /// - Parameter program: The program's path without symbolic links.
    package init(identifier: String, program: String) {
        self.identifier = identifier
        executable = String(program.split(separator: "/").last ?? "")
        name = executable
        version = "1.0"
    }

    /// Reads a property list. Keys that do not name the application do not matter.
    ///
    /// - Throws: `invalidRequest` if it is not a property list, or if a name has a wrong type, is
    ///   empty, or contains a build setting that was not replaced.
    init(propertyList bytes: [UInt8], path: String) throws(KeychainFailure) {
        let file = try DeclarationFile(bytes, path: path)
        identifier = try file.text("CFBundleIdentifier")
        executable = try file.text("CFBundleExecutable")
        if let identifier { try file.check(identifier) }
    }

    /// The paths at which Foundation looks on Linux. The first file that exists counts.
    ///
    /// - Parameter program: The program's path without symbolic links.
    package static func paths(ofProgram program: String) -> [String] {
        let folder = folder(of: program)
        var folders = ["Contents/", "Resources/", "Support Files/", ""].map { "\(folder)/\($0)" }
        if folder.hasSuffix(packaged) {
            folders.insert("\(folder.dropLast("Linux".count))", at: 0)
        }
        return folders.map { $0 + "Info.plist" }
    }

    /// The path without symbolic links of the program at `path`; nil if there is no file.
    package static func program(at path: String) -> String? {
        guard let program = FilePath.resolved(path), FilePath.isRegularFile(program) else {
            return nil
        }
        return program
    }

    /// The first of ``paths(ofProgram:)`` that exists, or may exist; nil if none does.
    package static func existingPath(ofProgram program: String) -> String? {
        paths(ofProgram: program).first(where: GivenFile.mayExist)
    }

    /// Where a new list for `program` goes: `Contents` beside it, or around it in a package such as
    /// `Mail.app/Contents/Linux/mail`.
    package static func pathToCreate(forProgram program: String) -> String {
        let folder = folder(of: program)
        return folder.hasSuffix(packaged)
            ? "\(folder.dropLast("Linux".count))Info.plist" : "\(folder)/Contents/Info.plist"
    }

    private static let packaged = "/Contents/Linux"

    static func folder(of path: String) -> String {
        String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }

    /// Writes the property list, all of it or nothing.
    ///
    /// - Returns: Whether it was written: false if there is a file and `replacing` is false.
    /// - Throws: As ``DeclarationFile/write(_:to:replacing:)``.
    package func write(to path: String, replacing: Bool) throws(KeychainFailure) -> Bool {
        try DeclarationFile.write(Array(propertyList.utf8), to: path, replacing: replacing)
    }

    private var propertyList: String {
        let values = [
            ("CFBundleExecutable", executable), ("CFBundleIdentifier", identifier),
            ("CFBundleInfoDictionaryVersion", "6.0"), ("CFBundleName", name),
            ("CFBundlePackageType", "APPL"), ("CFBundleShortVersionString", version),
            ("CFBundleVersion", version),
        ]
        var lines: [String] = []
        for case (let key, let value?) in values {
            lines += [
                "\t<key>\(key)</key>", "\t<string>\(DeclarationFile.escaped(value))</string>",
            ]
        }
        return DeclarationFile.head + (lines + ["</dict>", "</plist>", ""]).joined(separator: "\n")
    }
}
