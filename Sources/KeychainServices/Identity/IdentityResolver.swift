// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetKeychainStore

/// Finds out who a process is, from what surrounds it.
struct IdentityResolver {
    /// The environment's variables by name: those of ``variables`` that are set.
    let environment: [String: String]
    /// The program's path; nil where the system does not tell.
    let executablePath: String?
    /// The contents of a file; nil if there is none. Throws if it cannot be trusted or read.
    let readFile: (String) throws(KeychainFailure) -> Data?

    /// The identity, by the first of: entitlements, Flatpak, Snap, `Info.plist`, the executable's
    /// name.
    func resolve() throws(KeychainFailure) -> ApplicationIdentity {
        let declared = try entitlements()
        let (identifier, source) = try identifier(declared?.entitlements)
        let groups = (declared?.entitlements ?? Entitlements())
            .accessGroups(applicationIdentifier: identifier)
        return ApplicationIdentity(
            caller: Caller(
                applicationIdentifier: identifier, accessGroups: groups,
                executablePath: executablePath),
            source: declared.map { .entitlements(path: $0.path) } ?? source,
            entitlementsPath: declared?.path ?? pathToCreate)
    }

    private func entitlements() throws(KeychainFailure) -> (
        entitlements: Entitlements, path: String
    )? {
        if let path = environment["VALET_ENTITLEMENTS"], !path.isEmpty {
            return (try named(path), path)
        }
        for path in paths {
            if let bytes = try readFile(path) {
                return (try Entitlements(propertyList: bytes, path: path), path)
            }
        }
        return nil
    }

    private func named(_ path: String) throws(KeychainFailure) -> Entitlements {
        let variable = "$VALET_ENTITLEMENTS"
        guard path.hasPrefix("/") else {
            throw KeychainFailure(
                .invalidRequest, during: IdentityResolver.operation,
                message: "\(variable) is not an absolute path", path: path)
        }
        guard let bytes = try readFile(path) else {
            throw KeychainFailure(
                .invalidRequest, during: IdentityResolver.operation,
                message: "\(variable) names a file that does not exist", path: path)
        }
        return try Entitlements(propertyList: bytes, path: path)
    }

    /// Where entitlements are looked for, in this order.
    private var paths: [String] {
        guard let executablePath, let name = executableName else { return [] }
        return ["\(executablePath).entitlements", perUserPath(name), perMachinePath(name)]
            .compactMap { $0 }
    }

    private var pathToCreate: String? {
        executableName.map { perUserPath($0) ?? perMachinePath($0) }
    }

    private func perMachinePath(_ name: String) -> String {
        "/etc/valet/entitlements/\(name).entitlements"
    }

    private func perUserPath(_ name: String) -> String? {
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
        if let name = try flatpakName() { return (name, .flatpak) }
        for variable in ["SNAP_INSTANCE_NAME", "SNAP_NAME"] {
            if let name = environment[variable], !name.isEmpty { return (name, .snap) }
        }
        if let bundle = try bundle() { return bundle }
        guard let name = executableName else {
            throw KeychainFailure(
                .invalidRequest, during: Self.operation,
                message: "the name of this program is not known",
                hint: "call ValetKeychain.configure first, or mount /proc")
        }
        return (name, .executableName)
    }

    private func flatpakName() throws(KeychainFailure) -> String? {
        guard let bytes = try readFile(TrustedFile.flatpakInfoPath) else { return nil }
        return FlatpakInfo.applicationName(in: String(decoding: bytes, as: UTF8.self))
    }

    /// The identifier of the bundle that Foundation makes of the program and what is beside it.
    private func bundle() throws(KeychainFailure) -> (String, ApplicationIdentity.Source)? {
        guard let executablePath else { return nil }
        for path in BundleInformation.paths(ofProgram: executablePath) {
            guard let bytes = try readFile(path) else { continue }
            let information = try BundleInformation(propertyList: bytes, path: path)
            // Programs often share a folder: a list for one of them does not name the others.
            guard let identifier = information.identifier,
                [nil, executableName].contains(information.executable)
            else { return nil }
            return (identifier, .bundle(path: path))
        }
        return nil
    }

    private var executableName: String? {
        guard let name = executablePath?.split(separator: "/").last else { return nil }
        return String(name)
    }

    static let operation = "find out who is asking"
}

extension IdentityResolver {
    /// All the variables that matter.
    private static let variables = [
        "VALET_ENTITLEMENTS", "XDG_CONFIG_HOME", "HOME", "SNAP_INSTANCE_NAME", "SNAP_NAME",
    ]

    /// The resolver of the running process.
    static func ofThisProcess(_ environment: (String) -> String?) -> IdentityResolver {
        var values: [String: String] = [:]
        for variable in variables { values[variable] = environment(variable) }
        return IdentityResolver(
            environment: values, executablePath: executablePath(),
            readFile: { (path) throws(KeychainFailure) in try TrustedFile.read(path) })
    }

    /// The path of the running program; nil without /proc.
    static func executablePath() -> String? {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return path.map(withoutDeletionMark)
    }

    /// The kernel marks the path of a program whose file was replaced while it runs.
    static func withoutDeletionMark(_ path: String) -> String {
        let mark = " (deleted)"
        return path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
    }
}
