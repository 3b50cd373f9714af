// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetSealing
import ValetSystem
import ValetUserPresence

/// Asks for a passcode, and tells what it left behind.
enum Asking {
    static func perform(_ verb: String, _ words: [String]) -> String {
        switch verb {
        case "ask": ask(words)
        case "tell": tell(words)
        default: line(words)
        }
    }

    /// What came of it, for each of two questions in a row: `answer HEX` or the error's code, then
    /// the number of descriptors and children that the second left behind.
    ///
    /// Words: the seconds until the deadline, and what else: `terminal` first, `twice`, `empty`,
    /// `until:FILE`, which ends the question from another thread once it is there.
    private static func ask(_ words: [String]) -> String {
        var prompt = PasscodePrompt(description: "The tests ask for a passcode.")
        prompt.timeout = .milliseconds(Int(1000 * (Double(words[0]) ?? 10)))
        prompt.asksTwice = words.contains("twice")
        prompt.allowsEmpty = words.contains("empty")
        prompt.cancellation = words.last.flatMap(end)
        let asker = PasscodeAsker.forProcess(prefersTerminal: words.contains("terminal"))
        var texts = [answer(asker, prompt)]
        let before = descriptorCount
        if words.contains("again") { texts.append(answer(asker, prompt)) }
        texts.append("descriptors \(descriptorCount - before) children \(children)")
        // `readLine` takes an old EINTR at the end of its input for a reason to try again.
        errno = 0
        return texts.joined(separator: " ")
    }

    /// What came of telling a person something, which they may answer with `alternative`, and what
    /// it left behind. Words as those of ``ask(_:)``, and `offering`.
    private static func tell(_ words: [String]) -> String {
        var prompt = PasscodePrompt(description: "The tests tell something.")
        prompt.cancellation = words.last.flatMap(end)
        let asker = PasscodeAsker.forProcess(prefersTerminal: words.contains("terminal"))
        let before = descriptorCount
        var text = "alternative"
        do throws(SystemError) {
            try asker.tell(
                prompt, offering: words.contains("offering") ? "Do otherwise" : nil,
                until: Deadline(after: .milliseconds(Int(1000 * (Double(words[0]) ?? 10)))))
        } catch {
            text = error.code.name
        }
        defer { errno = 0 }
        return "\(text) descriptors \(descriptorCount - before) children \(children)"
    }

    /// What came of a question that is answered by a visible line, within so many seconds.
    private static func line(_ words: [String]) -> String {
        defer { errno = 0 }
        do throws(SystemError) {
            let duration = Duration.milliseconds(Int(1000 * (Double(words[0]) ?? 10)))
            let line = try TerminalDevice().readShownLine("Really? ", within: duration)
            let count = line.lineByteCount
            return line.value(byteCount: count).withBytes { bytes in
                "answer " + bytes.indices.map { String(format: "%02x", bytes[$0]) }.joined()
            }
        } catch {
            return error.code.name
        }
    }

    /// What ends the question.
    private static func end(_ word: String) -> Cancellation? {
        guard word.hasPrefix("until:") else { return nil }
        let (path, cancellation) = (String(word.dropFirst(6)), Cancellation())
        // Makes its descriptor, which it owns as long as it lives: no question leaves that behind.
        _ = WaitLimit(until: .immediately, cancellation: cancellation).wait(for: -1)
        Thread.detachNewThread {
            while !FileManager.default.fileExists(atPath: path) { usleep(10_000) }
            cancellation.cancel()
        }
        return cancellation
    }

    private static func answer(_ asker: PasscodeAsker, _ prompt: PasscodePrompt) -> String {
        do throws(SystemError) {
            let bytes = try asker.ask(prompt)
            let hex = bytes.withBytes { bytes in
                bytes.indices.map { String(format: "%02x", bytes[$0]) }.joined()
            }
            return "answer \(hex)"
        } catch {
            return error.code.name
        }
    }

    private static var descriptorCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1
    }

    /// The children of all threads, dead ones too.
    private static var children: Int {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.reduce(0) { count, task in
            let path = "/proc/self/task/\(task)/children"
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            return count + text.split(separator: " ").count
        }
    }
}
