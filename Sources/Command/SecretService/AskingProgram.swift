// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// A program on the bus, as well as the kernel knows it. Programs that are in no sandbox can appear
/// as others of their user.
final class AskingProgram: Sendable {
    /// What a person is shown: one line.
    let title: String
    /// Its sandbox as policies name it: `flatpak:ORG.EXAMPLE.APP`, `snap:NAME`; nil for none.
    let sandbox: String?
    /// The file that it runs; nil if the kernel does not show it.
    let executable: Executable?
    /// nil for one that has ended.
    private let handle: ProcessHandle?
    /// Where the kernel shows the process.
    private let folder: String

    struct Executable: Equatable, Sendable {
        let path: String
        /// A sandbox can have another file at the path.
        let identity: FileIdentity
    }

    /// - Parameters:
    ///   - process: nil if the bus does not know it.
    ///   - processes: Where the kernel shows processes.
    init(process: Int32?, in processes: String = "/proc") {
        guard let process, let handle = ProcessHandle(process) else {
            (title, sandbox, executable, handle) = ("A program that has ended", nil, nil, nil)
            folder = ""
            return
        }
        let folder = "\(processes)/\(process)"
        executable = Self.executable(folder)
        sandbox = Self.sandbox(folder)
        let name = sandbox.map(Self.title(ofSandbox:)) ?? executable?.path ?? "A program"
        title = "\(name) (process \(process))"
        (self.handle, self.folder) = (handle, folder)
    }

    /// A Flatpak, for which a portal speaks.
    init(flatpak application: String) {
        sandbox = "flatpak:" + application
        title = "The Flatpak \(application)"
        (executable, handle, folder) = (nil, nil, "")
    }

    /// Whether the process goes on, and runs the same file.
    var isThere: Bool {
        handle?.hasEnded == false && Self.executable(folder) == executable
    }

    private static func executable(_ folder: String) -> Executable? {
        let link = folder + "/exe"
        guard let path = FilePath.target(ofLink: link),
            let identity = try? GivenFile.identity(of: link)
        else { return nil }
        return Executable(path: path, identity: identity)
    }

    private static func sandbox(_ folder: String) -> String? {
        // What runs in a Flatpak cannot change its file (flatpak-metadata(5)); systemd puts it and
        // a snap into control groups, which other programs can make as well.
        if let text = TextFile.contents(folder + "/root/.flatpak-info"),
            let id = application(inMetadata: text)
        {
            return "flatpak:" + id
        }
        guard let text = TextFile.contents(folder + "/cgroup"),
            let group = text.split(separator: "\n").last?.split(separator: "/").last
        else { return nil }
        return sandbox(inControlGroup: String(group))
    }

    /// The `name` of the group `Application`.
    static func application(inMetadata text: String) -> String? {
        var group: Substring = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("[") { group = line }
            if group == "[Application]", line.hasPrefix("name=") {
                return String(line.dropFirst(5))
            }
        }
        return nil
    }

    /// `app-flatpak-ORG.EXAMPLE.APP-1234.scope`, `snap.NAME.APP-UUID.scope`.
    static func sandbox(inControlGroup group: String) -> String? {
        guard group.hasSuffix(".scope") else { return nil }
        let flatpak = "app-flatpak-"
        if group.hasPrefix(flatpak) {
            let rest = group.dropFirst(flatpak.count).dropLast(6)
            guard let end = rest.lastIndex(of: "-"), end > rest.startIndex else { return nil }
            return "flatpak:" + rest[..<end]
        }
        let parts = group.split(separator: ".")
        guard parts.first == "snap", parts.count >= 4 else { return nil }
        return "snap:" + parts[1]
    }

    private static func title(ofSandbox name: String) -> String {
        let parts = name.split(separator: ":", maxSplits: 1)
        return "The \(parts[0] == "snap" ? "snap" : "Flatpak") \(parts.last ?? "")"
    }
}
