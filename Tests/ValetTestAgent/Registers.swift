// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Valet

/// Threads that read and set a few items at random and record each call with its times, until the
/// process is killed or the time is over. The scenarios of `registers.py` judge the records.
///
/// A line of a record is `set KEY VALUE BEGIN` before a call that writes and `done END` after it,
/// or `get KEY VALUE BEGIN END`, in nanoseconds of the monotonic clock. Each line is one system
/// call, so that a kill loses none.
struct Registers {
    struct WrongUse: Error {}

    private let name: String
    private let keyCount: Int
    private let log: Int32

    /// `NAME LOG SECONDS KEYS`: runs three threads with a record each, `LOG-0` to `LOG-2`.
    static func run(_ words: [String]) throws {
        guard words.count == 4, let seconds = Double(words[2]), let keyCount = Int(words[3]) else {
            throw WrongUse()
        }
        let (name, log) = (words[0], words[1])
        let end = DispatchTime.now() + seconds
        DispatchQueue.concurrentPerform(iterations: 3) { thread in
            let file = unsafe open(
                "\(log)-\(thread)", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard file >= 0 else { return }
            let registers = Registers(name: "\(name)-\(thread)", keyCount: keyCount, log: file)
            var number = 0
            while DispatchTime.now() < end {
                registers.step(number)
                number += 1
            }
            close(file)
        }
    }

    private func step(_ number: Int) {
        let key = "register-\(Int.random(in: 0..<keyCount))"
        if Int.random(in: 0..<8) == 0 {
            set(key, "\(name)-\(number)")
            usleep(.random(in: 0..<2_000))
        } else {
            for _ in 0..<4 { get(key) }
        }
    }

    private func set(_ key: String, _ value: String) {
        write("set \(key) \(value) \(now)")
        do throws(KeychainError) {
            try Agent.valet.setString(value, forKey: key)
            write("done \(now)")
        } catch {
            write("failed \(error)")
        }
    }

    private func get(_ key: String) {
        let begin = now
        do throws(KeychainError) {
            let value = try Agent.valet.string(forKey: key)
            write("get \(key) \(value) \(begin) \(now)")
        } catch {
            write("failed \(error)")
        }
    }

    private var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

    private func write(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Foundation.write(log, $0.baseAddress, $0.count) }
    }
}
