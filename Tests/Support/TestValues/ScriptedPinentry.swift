// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A pinentry that answers from a script, in a temporary folder.
// Sendable because what it does is done by the file system.
package final class ScriptedPinentry: @unchecked Sendable {
    private static let program = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Platform/UserPresenceTests/fake-pinentry")
        .standardizedFileURL

    private let folder: URL

    /// One line of `answers` for each entry that is asked for; afterwards it cancels. Each time it
    /// is started it begins anew.
    package init(_ answers: String...) throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-pinentry-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            at: folder.appendingPathComponent("pinentry"), withDestinationURL: Self.program)
        try answer(answers)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// Answers by these lines, when it is started the next time.
    package func answer(_ answers: [String]) throws {
        try (answers.joined(separator: "\n") + "\n").write(
            to: folder.appendingPathComponent("answers"), atomically: false, encoding: .utf8)
    }

    /// Answers by one of these lines each time that it is started, up to five times; later as
    /// before.
    package func answer(inTurn answers: [String]) throws {
        for (index, answer) in answers.enumerated() {
            try (answer + "\n").write(
                to: folder.appendingPathComponent("turn-\(index + 1)"), atomically: false,
                encoding: .utf8)
        }
    }

    /// Says that it is the pinentry of another desktop, such as `gnome3`.
    package func pose(as flavor: String) throws {
        try (flavor + "\n").write(
            to: folder.appendingPathComponent("flavor"), atomically: false, encoding: .utf8)
    }

    /// Where it is.
    package var path: String { folder.appendingPathComponent("pinentry").path }

    /// What it wrote beside itself: `log`, `environment`, `arguments`, `signals`, `descriptors`.
    package func lines(_ file: String) -> [String] {
        let url = folder.appendingPathComponent(file)
        let text = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    /// The descriptions that it was to show, one for each time that it was started.
    package var descriptions: [String] {
        lines("log").filter { $0.hasPrefix("SETDESC ") }.map { String($0.dropFirst(8)) }
    }

    /// How many entries it was asked for.
    package var questionCount: Int { lines("log").count { $0 == "GETPIN" } }

    /// Whether it was ever started.
    package var wasStarted: Bool { !lines("pid").isEmpty }

    /// Waits until it asks for an entry, as ``awaitLine(_:)``.
    package func awaitQuestion() { awaitLine("GETPIN") }

    /// Waits until it was sent that line, for ten minutes at most: the sender may be a task
    /// behind all other tests.
    package func awaitLine(_ line: String) {
        for _ in 0..<60_000 {
            if lines("log").contains(line) { return }
            usleep(10_000)
        }
    }

    /// Whether it is neither alive nor a zombie. On a busy machine one may have been ended before
    /// it came to write its identifier; one that lives writes it soon.
    package var isGone: Bool {
        for _ in 0..<100 {
            guard lines("pid").isEmpty else { break }
            usleep(10_000)
        }
        guard let identifier = lines("pid").first else { return true }
        return !FileManager.default.fileExists(atPath: "/proc/\(identifier)")
    }
}
