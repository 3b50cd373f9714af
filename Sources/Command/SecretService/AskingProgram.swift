// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// A program on the bus, as far as the kernel knows it. A program outside a sandbox can pose as
/// another program of its user.
final class AskingProgram: Sendable {
    /// What a person is shown: one line.
    let title: String
    /// Its sandbox as policies name it: `flatpak:ORG.EXAMPLE.APP`, `snap:NAME`; nil for none.
    let sandbox: String?
    /// nil for a program that has ended.
    private let process: Process?
    /// Where the kernel shows processes.
    private let folder: String

    struct Executable: Equatable, Sendable {
        let path: String
        /// A sandbox can have another file at the path.
        let identity: FileIdentity
    }

    private struct Process: Equatable, Sendable {
        let number: Int32
        /// The start time as the kernel writes it. No later process with this number has the same
        /// one.
        let start: Substring
        /// nil if the kernel does not show it.
        let executable: Executable?

        init?(_ number: Int32, in folder: String) {
            // As long as the process has not ended, no other process has its number.
            guard let handle = ProcessHandle(number),
                let status = TextFile.contents("\(folder)/\(number)/stat"),
                let fields = status.lastIndex(of: ")").map({ status[$0...].split(separator: " ") }),
                fields.count > 20
            else { return nil }
            self.number = number
            // The 22nd field (proc(5)); the second one may have spaces.
            start = fields[20]
            executable = AskingProgram.executable("\(folder)/\(number)/exe")
            if handle.hasEnded { return nil }
        }
    }

    /// - Parameters:
    ///   - process: nil if the bus does not know it.
    ///   - folder: Where the kernel shows processes.
    init(process: Int32?, in folder: String = "/proc") {
        self.folder = folder
        let number = process ?? 0
        let found = Process(number, in: folder)
        let sandbox = Self.sandbox("\(folder)/\(number)")
        // If the process is still the same, the sandbox that was read is its own.
        guard let found, Process(number, in: folder) == found else {
            (title, self.sandbox, self.process) = ("A program that has ended", nil, nil)
            return
        }
        let name = sandbox.map(Self.title(ofSandbox:)) ?? found.executable?.path ?? "A program"
        title = "\(name) (process \(number))"
        (self.sandbox, self.process) = (sandbox, found)
    }

    /// A Flatpak, for which a portal speaks.
    init(flatpak application: String) {
        sandbox = "flatpak:" + application
        title = "The Flatpak \(application)"
        (process, folder) = (nil, "")
    }

    var executable: Executable? { process?.executable }
    /// False for a Flatpak for which a portal speaks.
    var hasProcess: Bool { !folder.isEmpty }
    /// Whether the process was found.
    var isKnown: Bool { process != nil }

    /// Whether the process goes on, and runs the same file.
    var isThere: Bool {
        guard let process else { return false }
        return Process(process.number, in: folder) == process
    }

    private static func executable(_ link: String) -> Executable? {
        guard let path = FilePath.target(ofLink: link),
            let identity = try? GivenFile.identity(of: link)
        else { return nil }
        return Executable(path: path, identity: identity)
    }

    private static func sandbox(_ folder: String) -> String? {
        // A program in a Flatpak cannot change this file (flatpak-metadata(5)). systemd puts
        // Flatpaks and snaps into control groups, which other programs can make as well.
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
        guard group.hasSuffix(".scope") || group.hasSuffix(".service") else { return nil }
        let flatpak = "app-flatpak-"
        if group.hasPrefix(flatpak), group.hasSuffix(".scope") {
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
