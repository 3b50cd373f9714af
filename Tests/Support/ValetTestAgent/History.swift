// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Valet
import ValetKeychainModel
import ValetKeychainServices

/// Reads, unlocks and locks again and again, and records when each call began and ended: a scenario
/// compares what several processes were answered.
///
/// A line of the record is `VERB BEGIN END ANSWER`, in nanoseconds of the monotonic clock.
struct History {
    struct WrongUse: Error {}

    private static let key = "key"
    private let passcode: String
    private var lines: [String] = []

    /// `ROLE SECONDS PASSCODE PATH`: does what the role says for so many seconds, and writes the
    /// record to a file.
    static func record(_ words: [String]) throws {
        guard words.count == 4, let seconds = Double(words[1]) else { throw WrongUse() }
        let (role, path) = (words[0], words[3])
        var history = History(passcode: words[2])
        let end = DispatchTime.now() + seconds
        while DispatchTime.now() < end { try history.step(role) }
        try Data(history.lines.joined().utf8).write(to: URL(fileURLWithPath: path))
    }

    private init(passcode: String) { self.passcode = passcode }

    private mutating func step(_ role: String) throws {
        switch role {
        case "reads":
            // Also twice in one millisecond, in which the first is believed.
            for _ in 0..<4 { read() }
            pause(microseconds: 4_000)
        case "unlocks":
            unlock()
            pause(microseconds: 2_000_000)
        case "locks":
            note("lock") {
                try ValetKeychain.lock()
                return "done"
            }
            pause(microseconds: 1_200_000)
        // A process with keys of its own.
        case "owns":
            unlock()
            for _ in 0..<100 {
                read()
                pause(microseconds: 4_000)
            }
        default: throw WrongUse()
        }
    }

    private mutating func read() {
        note("read") { try Agent.valet.string(forKey: Self.key) }
    }

    private mutating func unlock() {
        let bytes = Array(passcode.utf8)
        note("unlock") {
            try ValetKeychain.unlock(passcode: bytes.span)
            return "done"
        }
    }

    private mutating func note(_ verb: String, _ body: () throws -> String) {
        let begin = DispatchTime.now().uptimeNanoseconds
        let answer: String
        do {
            answer = try body()
        } catch {
            answer = KeychainFailure.last?.code.rawValue ?? "\(error)"
        }
        let end = DispatchTime.now().uptimeNanoseconds
        lines.append("\(verb) \(begin) \(end) \(answer)\n")
    }

    /// So that the steps of processes fall differently each time.
    private func pause(microseconds limit: UInt32) { usleep(.random(in: 0..<limit)) }
}
