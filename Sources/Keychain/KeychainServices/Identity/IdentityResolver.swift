// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSystem

/// Finds the application identity of a process: from files, variables and its executable.
/// ``ApplicationIdentity`` asks it once.
struct IdentityResolver {
    /// The variables of ``variables`` that are set.
    let environment: [String: String]
    /// The program's path; nil where the system does not say.
    let executablePath: String?
    /// Reads a file; returns nil if it does not exist, throws if it cannot be trusted or read.
    let readFile: (String) throws(KeychainFailure) -> [UInt8]?

    /// The identity from the first of these sources that gives one: entitlements, Flatpak, Snap,
    /// `Info.plist`, the executable's name.
    func resolve() throws(KeychainFailure) -> ApplicationIdentity {
        let declared = try entitlements()
        let (identifier, source) = try identifier(declared?.entitlements)
        let groups = (declared?.entitlements ?? Entitlements())
            .accessGroups(applicationIdentifier: identifier)
        return ApplicationIdentity(
            caller: Caller(applicationIdentifier: identifier, accessGroups: groups),
            source: declared.map { .entitlements(path: $0.path) } ?? source,
            entitlementsPath: declared?.path
                ?? executableName.map { perUserPath($0) ?? perMachinePath($0) })
    }

    private func entitlements() throws(KeychainFailure) -> (
        entitlements: Entitlements, path: String
    )? {
        if let path = try namedPath() {
            guard let bytes = try readFile(path) else {
                throw Self.failure("$VALET_ENTITLEMENTS names a file that does not exist", path)
            }
            return (try Entitlements(propertyList: bytes, path: path), path)
        }
        for path in entitlementsPaths {
            if let bytes = try readFile(path) {
                return (try Entitlements(propertyList: bytes, path: path), path)
            }
        }
        return nil
    }

    /// The file that `$VALET_ENTITLEMENTS` names; nil if the variable is not set.
    ///
    /// - Throws: `invalidRequest` for a relative path.
    func namedPath() throws(KeychainFailure) -> String? {
        guard let path = environment["VALET_ENTITLEMENTS"], !path.isEmpty else { return nil }
        guard path.hasPrefix("/") else {
            throw Self.failure("$VALET_ENTITLEMENTS is not an absolute path", path)
        }
        return path
    }

    private static func failure(_ message: String, _ path: String) -> KeychainFailure {
        KeychainFailure(.invalidRequest, during: operation, message: message, path: path)
    }

    /// Where the program's entitlements may be, unless a variable names the file. The first one
    /// that exists counts.
    var entitlementsPaths: [String] {
        guard let executablePath, let name = executableName else { return [] }
        return ["\(executablePath).entitlements", perUserPath(name), perMachinePath(name)]
            .compactMap { $0 }
    }

    func perMachinePath(_ name: String) -> String {
        "/etc/valet/entitlements/\(name).entitlements"
    }

    func perUserPath(_ name: String) -> String? {
        let folder = absolute("XDG_CONFIG_HOME") ?? absolute("HOME").map { "\($0)/.config" }
        return folder.map { "\($0)/valet/entitlements/\(name).entitlements" }
    }

    private func absolute(_ variable: String) -> String? {
        environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    private func identifier(
        _ entitlements: Entitlements?
    ) throws(KeychainFailure) -> (String, ApplicationIdentity.Source) {
        if let name = entitlements?.applicationIdentifier { return (name, .executableName) }
        if let bytes = try readFile(Self.flatpakInfoPath),
            let name = FlatpakInfo.applicationName(in: String(decoding: bytes, as: UTF8.self))
        {
            return (name, .flatpak)
        }
        for variable in ["SNAP_INSTANCE_NAME", "SNAP_NAME"] {
            if let name = environment[variable], !name.isEmpty { return (name, .snap) }
        }
        if let bundle = try bundle() { return bundle }
        guard let name = executableName else {
            throw KeychainFailure(
                .invalidRequest, during: Self.operation,
                message: "the name of this program is unknown",
                advice: .call(.configure, purpose: "first", alternative: "mount /proc"))
        }
        return (name, .executableName)
    }

    /// The identifier of the bundle that Foundation finds for the program.
    private func bundle() throws(KeychainFailure) -> (String, ApplicationIdentity.Source)? {
        guard let executablePath else { return nil }
        for path in BundleInformation.paths(ofProgram: executablePath) {
            guard let bytes = try readFile(path) else { continue }
            let information = try BundleInformation(propertyList: bytes, path: path)
            // Programs often share a folder, and the `Info.plist` of one does not identify the
            // others.
            guard let identifier = information.identifier,
                [nil, executableName].contains(information.executable)
            else { return nil }
            return (identifier, .bundle(path: path))
        }
        return nil
    }

    var executableName: String? {
        guard let name = executablePath?.split(separator: "/").last else { return nil }
        return String(name)
    }

    static let operation = "identify the application"

    /// The variables that name an application, or the folders to search.
    private static let variables = [
        "VALET_ENTITLEMENTS", "XDG_CONFIG_HOME", "HOME", "SNAP_INSTANCE_NAME", "SNAP_NAME",
    ]

    static func ofThisProcess(_ environment: (String) -> String?) -> IdentityResolver {
        ofProgram(executablePath(), environment)
    }

    /// - Parameter path: The program's path without symbolic links; nil if it is unknown.
    static func ofProgram(
        _ path: String?, _ environment: (String) -> String?
    ) -> IdentityResolver {
        var values: [String: String] = [:]
        for variable in variables { values[variable] = environment(variable) }
        return IdentityResolver(
            environment: values, executablePath: path,
            readFile: { (path) throws(KeychainFailure) in try read(path) })
    }

    /// The path of the running program; nil without /proc.
    static func executablePath() -> String? {
        FilePath.target(ofLink: "/proc/self/exe").map(withoutDeletionMark)
    }

    /// `path` without the mark that the kernel adds if the program's file was replaced.
    static func withoutDeletionMark(_ path: String) -> String {
        let mark = " (deleted)"
        return path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
    }

    private static let flatpakInfoPath = "/.flatpak-info"
    private static let greatestByteCount = 1 << 20
    /// The user to whom files of the host's root seem to belong in a Flatpak sandbox.
    private static let unknownUser: UInt32 = 65534

    /// The contents of a file that describes this program; nil if it does not exist, or lies in a
    /// folder that this process may not search, as in a service with `ProtectHome=yes`.
    ///
    /// - Throws: `insecureFiles` unless it is a regular file of root or of the user that nobody
    ///   else may write; `invalidRequest` if it is larger than 1 MiB; `inputOutput`.
    static func read(_ path: String) throws(KeychainFailure) -> [UInt8]? {
        do {
            return try SystemFile.contents(
                of: path, maxByteCount: greatestByteCount,
                trusting: FileIdentity(of: flatpakInfoPath) == nil ? nil : unknownUser)
        } catch {
            if error.systemError == EACCES, FileIdentity(of: path) == nil { return nil }
            throw failure(error, path)
        }
    }

    private static func failure(_ error: SystemError, _ path: String) -> KeychainFailure {
        let (code, message): (KeychainFailure.Code, String) =
            switch error.code {
            case .symbolicLink, .notARegularFile:
                (.insecureFiles, "this is not a regular file")
            case .wrongOwner: (.insecureFiles, "the file belongs to another user")
            case .wrongMode: (.insecureFiles, "others may write the file")
            case .tooLarge: (.invalidRequest, "the file is larger than 1 MiB")
            default: (.inputOutput, "the file cannot be read")
            }
        return KeychainFailure(
            KeychainFailure(
                code, during: operation, message: message, path: path, hint: error.hint),
            systemError: error.systemError ?? 0)
    }
}

/// The key file that every Flatpak sandbox has at its root.
enum FlatpakInfo {
    /// The value of `name` in the group `Application`; nil without one.
    static func applicationName(in text: String) -> String? {
        var isInGroup = false
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("[") {
                isInGroup = line == "[Application]"
            } else if isInGroup, let separator = line.firstIndex(of: "=") {
                let key = line[..<separator].filter { $0 != " " }
                let value = line[line.index(after: separator)...].drop { $0 == " " }
                if key == "name" && !value.isEmpty { return String(value) }
            }
        }
        return nil
    }
}
