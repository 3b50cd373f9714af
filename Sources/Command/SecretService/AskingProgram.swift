// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// The program that a question is asked for, as well as the kernel knows it. Only a sandbox keeps
/// a program from calling itself as it likes.
struct AskingProgram: Sendable {
    /// What a person is shown: one line.
    let title: String

    /// - Parameters:
    ///   - process: nil if the bus does not know it.
    ///   - folder: Where the kernel shows processes.
    init(process: Int32?, folder: String = "/proc") {
        guard let process else {
            title = "A program that has ended"
            return
        }
        if let sandbox = Self.sandbox(in: "\(folder)/\(process)/cgroup") {
            title = "\(sandbox) (process \(process))"
            return
        }
        let executable = FilePath.target(ofLink: "\(folder)/\(process)/exe")
        title = "\(executable ?? "A program") (process \(process))"
    }

    /// The name of an application of Flatpak or Snap, which systemd puts into a control group of
    /// its own; nil for other programs.
    private static func sandbox(in path: String) -> String? {
        guard let text = TextFile.contents(path),
            let group = text.split(separator: "\n").last?.split(separator: "/").last
        else { return nil }
        return name(inControlGroup: String(group))
    }

    /// `app-flatpak-ORG.EXAMPLE.APP-1234.scope`, `snap.NAME.APP-UUID.scope`.
    static func name(inControlGroup group: String) -> String? {
        guard group.hasSuffix(".scope") else { return nil }
        let flatpak = "app-flatpak-"
        if group.hasPrefix(flatpak) {
            let rest = group.dropFirst(flatpak.count).dropLast(6)
            guard let end = rest.lastIndex(of: "-"), end > rest.startIndex else { return nil }
            return "The Flatpak \(rest[..<end])"
        }
        let parts = group.split(separator: ".")
        guard parts.first == "snap", parts.count >= 4 else { return nil }
        return "The snap \(parts[1])"
    }
}
