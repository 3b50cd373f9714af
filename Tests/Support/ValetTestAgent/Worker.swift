// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Valet
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore

/// Adds and removes as fast as it can, and records what was acknowledged.
struct Worker {
    private let name: String
    private let log: FileHandle

    init(name: String, log path: String) throws {
        self.name = name
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let log = FileHandle(forWritingAtPath: path)
        else { throw CocoaError(.fileNoSuchFile) }
        self.log = log
    }

    /// Returns how many calls it made and how long the slowest took, in milliseconds.
    func run(seconds: String) throws -> String {
        let clock = ContinuousClock()
        let end = clock.now + .milliseconds(Int((Double(seconds) ?? 1) * 1_000))
        var slowest = Duration.zero
        var count = 0
        while clock.now < end {
            slowest = max(slowest, try clock.measure { try step(count) })
            count += 1
            if count % 7 == 0 { try KeychainSession.current().store.close() }
        }
        return "\(count) \(Int(slowest / .milliseconds(1)))"
    }

    private func step(_ index: Int) throws {
        let key = "\(name)-\(index)"
        try Agent.valet.setString("value of \(key)", forKey: key)
        record("added \(key)")
        guard index % 3 == 2 else { return }
        let old = "\(name)-\(index - 1)"
        record("removing \(old)")
        try Agent.valet.removeObject(forKey: old)
        record("removed \(old)")
    }

    private func record(_ line: String) {
        log.write(Data((line + "\n").utf8))
    }

    /// Lets threads write at once; returns how many writes failed, and why the first did.
    static func crowd(name: String, threadCount: Int, count: String) -> String {
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: threadCount) { thread in
            for index in 0..<(Int(count) ?? 0) {
                let key = "\(name)-\(thread)-\(index)"
                do {
                    try Agent.valet.setString("value of \(key)", forKey: key)
                } catch {
                    let cause = KeychainFailure.last.map { "\($0)" } ?? "\(error)"
                    failures.withLock { $0.append("\(key): \(cause)") }
                }
            }
        }
        let all = failures.withLock { $0 }
        return (["\(all.count)"] + all.prefix(1)).joined(separator: " ")
    }
}

/// A thread that writes most of the time and says nothing.
enum Background {
    static func start(prefix: String) {
        let thread = Thread {
            var index = 0
            while true {
                try? Agent.valet.setString("background", forKey: "\(prefix)-\(index)")
                index = (index + 1) % 100
                // Somebody else's call is to find it between two writes, too.
                Thread.sleep(forTimeInterval: 0.001)
            }
        }
        thread.start()
    }
}

/// Does the same again and again until a file is there.
enum Steady {
    /// Writes the item; returns how many calls it made and how long the slowest took, in ms.
    static func write(_ key: String, until file: String) throws -> String {
        var count = 0
        return try repeating(until: file) {
            try Agent.valet.setString("value \(count)", forKey: key)
            count += 1
        }
    }

    /// Reads the item.
    static func read(_ key: String, until file: String) throws -> String {
        try repeating(until: file) { _ = try Agent.valet.string(forKey: key) }
    }

    private static func repeating(
        until file: String, _ step: () throws -> Void
    ) throws -> String {
        let clock = ContinuousClock()
        var (count, slowest) = (0, Duration.zero)
        while !FileManager.default.fileExists(atPath: file) {
            slowest = max(slowest, try clock.measure(step))
            count += 1
        }
        return "\(count) \(Int(slowest / .milliseconds(1)))"
    }
}
