// SPDX-License-Identifier: Apache-2.0

import Database
import Foundation
import SecretMemory

@testable import UserPresence

/// What asking led to.
enum Outcome: Equatable {
    case answer(String)
    case failure(UserPresenceError.Code)

    init(_ body: () throws(UserPresenceError) -> SecretBytes) {
        do throws(UserPresenceError) {
            self = .answer(try body().text)
        } catch {
            self = .failure(error.code)
        }
    }
}

extension SecretBytes {
    /// A copy, to compare with.
    var array: [UInt8] {
        withBytes { bytes in bytes.indices.map { bytes[$0] } }
    }

    var text: String { String(decoding: array, as: UTF8.self) }
}

/// A pinentry that answers from a script, in a temporary folder.
final class FakePinentry {
    private static let program = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("fake-pinentry")

    private let folder: URL

    /// One line of `answers` for each entry that is asked for; afterwards it cancels.
    init(_ answers: String...) throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-pinentry-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            at: folder.appendingPathComponent("pinentry"), withDestinationURL: Self.program)
        try (answers.joined(separator: "\n") + "\n").write(
            to: folder.appendingPathComponent("answers"), atomically: false, encoding: .utf8)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    var path: String { folder.appendingPathComponent("pinentry").path }

    /// What it wrote beside itself: `log`, `environment`, `arguments`, `signals`, `descriptors`.
    func lines(_ file: String) -> [String] {
        let url = folder.appendingPathComponent(file)
        let text = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    /// Whether it is neither alive nor a zombie.
    var isGone: Bool {
        guard let identifier = lines("pid").first else { return false }
        return !FileManager.default.fileExists(atPath: "/proc/\(identifier)")
    }

    func ask(
        _ prompt: PasscodePrompt = PasscodePrompt(description: "asks"),
        _ variables: [String: String] = [:]
    ) throws(UserPresenceError) -> SecretBytes {
        let program = PinentryProgram(
            path: path, environment: Environment(variables), usesTerminal: false)
        return try program.ask(prompt, until: Deadline(after: prompt.timeout))
    }
}
