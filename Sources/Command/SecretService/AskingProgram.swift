// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainServices
internal import ValetSystem

/// A program on the bus, as far as the kernel knows it. A program outside a sandbox can pose as
/// another program of its user.
final class AskingProgram: Sendable {
    enum Sandbox: Hashable, Sendable {
        case none
        /// As policies name it: `flatpak:ORG.EXAMPLE.APP`, `snap:NAME`.
        case named(String)
        /// It cannot be told whether it is in a sandbox, and in which.
        case unknown
    }

    struct Executable: Equatable, Sendable {
        let path: String
        /// A sandbox can have another file at the path.
        let identity: FileIdentity

        /// The kernel marks a file that another one has replaced, or that is gone.
        private static let mark = " (deleted)"

        var isReplaced: Bool { path.hasSuffix(Self.mark) }
        /// The path at which the file was, if it is not there any more.
        var formerPath: String {
            isReplaced ? String(path.dropLast(Self.mark.count)) : path
        }

        static func == (left: Executable, right: Executable) -> Bool {
            left.path == right.path && left.identity.isSameFile(as: right.identity)
        }
    }

    /// What a person is shown: one line.
    let title: String
    let sandbox: Sandbox
    /// nil if the kernel does not show it.
    let executable: Executable?
    /// What a lasting yes to this program is for; nil if none can be given.
    let lasting: AccessGrant.Program?
    /// Whether any script can run as this program.
    var runsScripts: Bool { executable.map { Interpreters.contain($0.path) } ?? false }
    /// nil for a program that has ended, or that was not looked at.
    private let process: BusClientProcess?
    /// Where the kernel shows the process; empty for a Flatpak for which a portal speaks.
    private let folder: String

    /// Looks at the program that a process runs. File systems that the program has chosen may keep
    /// the thread waiting without end.
    ///
    /// - Parameters:
    ///   - process: nil if the bus does not know it.
    ///   - folder: Where the kernel shows processes.
    init(_ process: BusClientProcess?, in folder: String = "/proc") {
        self.folder = "\(folder)/\(process?.number ?? 0)"
        var last: (executable: Executable?, sandbox: Sandbox)?
        // A program that runs another file in between is looked at again.
        for _ in 0..<3 {
            let executable = Self.executable(self.folder)
            let sandbox = Self.sandbox(self.folder)
            last = (executable, sandbox)
            if Self.executable(self.folder) == executable { break }
            last = nil
        }
        // As long as the process has not ended, no other process has its number.
        guard let process, !process.handle.hasEnded, let last else {
            (title, sandbox, executable) = ("A program that has ended", .unknown, nil)
            lasting = nil
            self.process = nil
            return
        }
        let name =
            if case .named(let sandbox) = last.sandbox {
                Self.title(ofSandbox: sandbox)
            } else {
                last.executable?.path ?? "A program"
            }
        title = "\(name) (process \(process.number))"
        (executable, sandbox, self.process) = (last.executable, last.sandbox, process)
        lasting = Self.lasting(last.executable, last.sandbox, self.folder)
    }

    /// A program at which a look has not ended in time.
    init(withoutLookAt process: BusClientProcess) {
        title = "A program that does not answer (process \(process.number))"
        (sandbox, executable, self.process, folder) = (.unknown, nil, nil, "/proc")
        lasting = nil
    }

    /// A Flatpak, for which a portal speaks.
    init(flatpak application: String) {
        sandbox = .named("flatpak:" + application)
        title = "The Flatpak \(application)"
        (executable, process, folder) = (nil, nil, "")
        lasting = nil
    }

    /// False for a Flatpak for which a portal speaks.
    var hasProcess: Bool { !folder.isEmpty }
    /// Whether the process was found.
    var isKnown: Bool { process != nil }
    /// Whether nothing that a policy asks for is unknown.
    var isWhollyKnown: Bool { sandbox != .unknown && (executable != nil || !hasProcess) }
    /// Whether the process has ended: nothing else can be known of the connection from then on.
    var hasEnded: Bool { process?.handle.hasEnded ?? true }

    /// Whether the process goes on, and runs the same file. Asks no file system.
    var isThere: Bool { !hasEnded && Self.executable(folder) == executable }

    /// Whether both are the same file in the same process and sandbox.
    func isSame(as other: AskingProgram) -> Bool {
        guard let process, let others = other.process else { return false }
        return process.handle === others.handle && executable == other.executable
            && sandbox == other.sandbox
    }

    /// A file is told from others by its version, and only if this service sees the same files: in
    /// another mount namespace there may be other libraries. Of a file that was replaced, or one
    /// that runs scripts, nothing lasting can be said.
    private static func lasting(
        _ executable: Executable?, _ sandbox: Sandbox, _ folder: String
    ) -> AccessGrant.Program? {
        switch sandbox {
        case .unknown: return nil
        case .named(let name): return .sandbox(name)
        case .none:
            guard let executable, executable.path.hasPrefix("/"), !executable.isReplaced,
                !Interpreters.contain(executable.path),
                let place = FilePath.target(ofLink: folder + "/ns/mnt"),
                place == FilePath.target(ofLink: "/proc/self/ns/mnt"),
                let version = FileVersion(
                    ofProgram: folder + "/exe", expecting: executable.identity)
            else { return nil }
            return .file(path: executable.path, version)
        }
    }

    private static func executable(_ folder: String) -> Executable? {
        let link = folder + "/exe"
        guard let path = FilePath.target(ofLink: link),
            let identity = FileIdentity(ofProgram: link)
        else { return nil }
        return Executable(path: path, identity: identity)
    }

    /// A program in a Flatpak cannot change `.flatpak-info` (flatpak-metadata(5)). systemd puts
    /// Flatpaks and snaps into control groups, which other programs can make as well.
    private static func sandbox(_ folder: String) -> Sandbox {
        var metadata = FlatpakMetadata()
        let reading = TextFile.read(folder + "/root/.flatpak-info") { line, isWhole in
            metadata.add(line, isWhole: isWhole)
        }
        switch reading {
        case .absent: break
        case .unreadable: return .unknown
        case .read: return metadata.application.map { .named("flatpak:" + $0) } ?? .unknown
        }
        var groups: [String] = []
        let isRead = TextFile.read(folder + "/cgroup") { line, isWhole in
            groups.append(line)
            return isWhole
        }
        return isRead == .read ? sandbox(inControlGroups: groups) : .unknown
    }

    /// The sandbox by the lines of `cgroup` in proc(5). A program may be in a group below the one
    /// that systemd has made.
    static func sandbox(inControlGroups lines: [String]) -> Sandbox {
        // `NUMBER:CONTROLLERS:PATH`
        guard !lines.isEmpty, lines.allSatisfy({ $0.split(separator: ":").count >= 2 }) else {
            return .unknown
        }
        let found = Set(
            lines.flatMap { line in
                line.split(separator: "/").map { sandbox(inControlGroup: String($0)) }
            }
        ).subtracting([.none])
        guard let one = found.first else { return .none }
        return found.count == 1 ? one : .unknown
    }

    /// `app-flatpak-ORG.EXAMPLE.APP-1234.scope`, `snap.NAME.APP-UUID.scope`. systemd writes a byte
    /// that is special in names of units as `\x2d` (systemd.unit(5), "String Escaping").
    static func sandbox(inControlGroup component: String) -> Sandbox {
        // The kernel marks a group that was removed.
        let mark = " (deleted)"
        let group = component.hasSuffix(mark) ? String(component.dropLast(mark.count)) : component
        guard group.hasSuffix(".scope") || group.hasSuffix(".service") else { return .none }
        let flatpak = "app-flatpak-"
        if group.hasPrefix(flatpak), group.hasSuffix(".scope") {
            let rest = group.dropFirst(flatpak.count).dropLast(6)
            guard let end = rest.lastIndex(of: "-"), end > rest.startIndex else { return .none }
            return unescaped(rest[..<end]).map { .named("flatpak:" + $0) } ?? .unknown
        }
        let parts = group.split(separator: ".")
        guard parts.first == "snap", parts.count >= 4 else { return .none }
        return unescaped(parts[1]).map { .named("snap:" + $0) } ?? .unknown
    }

    /// A part of a unit's name without systemd's escapes; nil for one that systemd does not write.
    private static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            guard rest.popFirst() == UInt8(ascii: "x"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func title(ofSandbox name: String) -> String {
        let parts = name.split(separator: ":", maxSplits: 1)
        return "The \(parts[0] == "snap" ? "snap" : "Flatpak") \(parts.last ?? "")"
    }
}

/// Programs that run what they are given: a yes to one of them is a yes to everything that it can
/// run.
enum Interpreters {
    private static let names: Set<String> = [
        "R", "ash", "awk", "bash", "beam", "bun", "busybox", "cjs", "csh", "dash", "deno", "dotnet",
        "electron", "emacs", "fish", "gawk", "gdb", "gjs", "groovy", "guile", "irb", "java",
        "julia", "ksh", "ld", "lua", "luajit", "mawk", "mksh", "mono", "node", "nodejs", "perl",
        "php", "pwsh", "pypy", "python", "qemu", "racket", "ruby", "sh", "tclsh", "tcsh", "toybox",
        "wine", "wish", "zsh",
    ]

    /// Whether the file at a path has the name of an interpreter, with or without a version:
    /// `python3.11`, `gjs-console`, `ld-linux-x86-64.so.2`.
    static func contain(_ path: String) -> Bool {
        let name = path.split(separator: "/").last ?? ""
        return names.contains(String(name.prefix { $0.isLetter }))
    }
}

/// The file `.flatpak-info` of a Flatpak: a key file, line by line.
struct FlatpakMetadata {
    /// The `name` of the group `Application`.
    private(set) var application: String?
    private var isInGroup = false

    /// - Returns: Whether the name is not yet known.
    mutating func add(_ line: String, isWhole: Bool = true) -> Bool {
        let line = line.trimmed
        if line.hasPrefix("[") {
            isInGroup = line == "[Application]"
            return true
        }
        guard isInGroup, let equals = line.firstIndex(of: "="),
            line[..<equals].trimmed == "name"
        else { return true }
        let name = line[line.index(after: equals)...].trimmed
        if isWhole, !name.isEmpty { application = String(name) }
        return false
    }
}

extension StringProtocol where SubSequence == Substring {
    /// Without blanks at both ends, a carriage return among them.
    var trimmed: Substring {
        let rest = drop(while: \.isWhitespace)
        guard let last = rest.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return rest[...last]
    }
}
