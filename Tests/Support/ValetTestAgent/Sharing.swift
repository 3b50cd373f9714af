// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Valet
import ValetKeychainModel
import ValetKeychainServices

/// Threads that set, get and remove the same few items, and record what they were answered: a
/// scenario looks for an order that explains it.
///
/// Each thread has a file. `begin VERB KEY VALUE TIME` is written before a call, and
/// `end ANSWER TIME` after it, so that a killed process leaves what it was doing. Times are
/// nanoseconds of the monotonic clock; no two calls set the same value.
struct Sharing {
    struct WrongUse: Error {}

    private static let groupCount = 4
    private static let keysPerGroup = 2

    private let name: String
    private let keys: [String]
    private let readCount: Int
    private let log: FileHandle
    private var count = 0

    /// `THREADS SECONDS PATH READS`: runs so many threads for so many seconds, each with a record,
    /// `PATH.0` and so on. On average, a thread makes READS reads for three writes.
    static func record(_ words: [String]) throws {
        guard words.count == 4, let threadCount = Int(words[0]), let seconds = Double(words[1]),
            let readCount = Int(words[3])
        else { throw WrongUse() }
        let path = words[2]
        let sharing = try (0..<threadCount).map {
            try Sharing(thread: $0, path, readCount: readCount)
        }
        let end = DispatchTime.now() + seconds
        let group = DispatchGroup()
        for one in sharing {
            group.enter()
            // The threads of a queue are too few.
            Thread.detachNewThread {
                var one = one
                while DispatchTime.now() < end { one.step() }
                group.leave()
            }
        }
        group.wait()
    }

    private init(thread: Int, _ path: String, readCount: Int) throws {
        self.readCount = readCount
        name = "\(getpid())-\(thread)"
        let first = thread % Self.groupCount * Self.keysPerGroup
        keys = (first..<first + Self.keysPerGroup).map { "shared-\($0)" }
        guard FileManager.default.createFile(atPath: "\(path).\(thread)", contents: nil),
            let log = FileHandle(forWritingAtPath: "\(path).\(thread)")
        else { throw CocoaError(.fileNoSuchFile) }
        self.log = log
    }

    private mutating func step() {
        count += 1
        let key = keys[Int.random(in: keys.indices)]
        switch Int.random(in: 0..<3 + readCount) {
        case 0, 1:
            let value = "\(name)-\(count)"
            note("set", key, value) {
                try Agent.valet.setString(value, forKey: key)
                return "done"
            }
        case 2:
            note("remove", key, "-") {
                try Agent.valet.removeObject(forKey: key)
                return "done"
            }
        default: note("get", key, "-") { try Agent.valet.string(forKey: key) }
        }
    }

    private func note(_ verb: String, _ key: String, _ value: String, _ body: () throws -> String) {
        log.write(Data("begin \(verb) \(key) \(value) \(time)\n".utf8))
        let answer: String
        do {
            answer = try body()
        } catch KeychainError.itemNotFound {
            answer = "absent"
        } catch {
            answer = "error-\(KeychainFailure.last?.code.rawValue ?? "\(error)")"
        }
        log.write(Data("end \(answer) \(time)\n".utf8))
    }

    private var time: UInt64 { DispatchTime.now().uptimeNanoseconds }
}
