// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Several threads, or several processes, that write at the same time.
struct Writers {
    let itemCount: Int
    let folder: String
    let isQuick: Bool

    /// Names that no other run has used: each run adds its items above those of the last one.
    private static let next = Atomic<Int>(0)

    /// For 1, 4 and 16 threads, microseconds until one more write is on disk, and what each waits.
    func measureThreads(_ report: (Figure) -> Void) throws {
        let written = [Subject.Label.random, .valet].compactMap { Subject($0, in: folder) }
        try WarmUp(itemCount: itemCount, folder: folder).beginLogsAnew(of: written)
        let raw = Mutex(RawStore(path: folder + "/random.db"))
        let ours = ValetStore(valet: ValetStore.named("benchmark"))
        let lmdb = LMDBStore(path: folder + "/lmdb.db")
        let subjects: [(Subject.Label, @Sendable (String, [UInt8]) throws -> Void)] = [
            // Threads that share one connection are faster than threads with one each.
            (.random, { name, value in raw.withLock { $0.set(name, value) } }),
            (.valet, { name, value in try ours.set(name, value) }),
            (.lmdb, { name, value in lmdb?.set(name, value) }),
        ]
        Self.next.store(100_000_000, ordering: .relaxed)
        let seconds = isQuick ? 0.15 : 0.3
        for addsItems in [false, true] {
            var blocks: [Int: [Subject.Label: [Double]]] = [:]
            var waits: [Int: [Subject.Label: [Double]]] = [:]
            for _ in 0..<(isQuick ? 3 : 7) {
                for threads in [1, 4, 16] {
                    for (label, set) in subjects where label != .lmdb || lmdb != nil {
                        let times = try run(threads, seconds, adding: addsItems, set)
                        blocks[threads, default: [:]][label, default: []].append(times.perWrite)
                        waits[threads, default: [:]][label, default: []] += times.waits
                    }
                }
            }
            for threads in [1, 4, 16] {
                let crowd = threads == 1 ? "1 thread" : "\(threads) threads"
                let name = "set \(addsItems ? "new" : "existing"), \(crowd)"
                report(Figure(name, itemCount, blocks: blocks[threads] ?? [:]))
                let slowest = (waits[threads] ?? [:]).mapValues { percentile(0.99, of: $0) }
                report(Figure(name + " p99", itemCount, slowest))
            }
        }
    }

    /// Writes for some seconds with so many threads.
    private func run(
        _ threads: Int, _ seconds: Double, adding: Bool,
        _ set: @escaping @Sendable (String, [UInt8]) throws -> Void
    ) throws -> (perWrite: Double, waits: [Double]) {
        let waits = Mutex<[Double]>([])
        let group = DispatchGroup()
        let start = DispatchTime.now().uptimeNanoseconds
        let end = start + UInt64(seconds * 1e9)
        for thread in 0..<threads {
            group.enter()
            Thread.detachNewThread {
                let times = Self.write(until: end, itemCount, adding: adding, set)
                waits.withLock { $0 += times }
                group.leave()
            }
        }
        group.wait()
        let time = Double(DispatchTime.now().uptimeNanoseconds - start) / 1000
        return waits.withLock { (time / Double($0.count), $0) }
    }

    /// What each write took, in microseconds.
    private static func write(
        until end: UInt64, _ itemCount: Int, adding: Bool,
        _ set: (String, [UInt8]) throws -> Void
    ) -> [Double] {
        // Never the same values again: SQLite would not write them.
        var numbers = RandomNumbers(seed: .random(in: 0 ... .max))
        var clock = [DispatchTime.now().uptimeNanoseconds]
        while let last = clock.last, last < end {
            let number =
                adding
                ? next.add(1, ordering: .relaxed).newValue
                : Int.random(in: 0..<itemCount, using: &numbers)
            do {
                try set(Names.random(number), sampleValue(.random(in: 0 ... .max, using: &numbers)))
            } catch {
                preconditionFailure("a write fails: \(error)")
            }
            clock.append(DispatchTime.now().uptimeNanoseconds)
        }
        return zip(clock, clock.dropFirst()).map { Double($1 - $0) / 1000 }
    }

    /// One process of several. Says `ready`, waits for a line that says how many seconds it
    /// writes, and says how many writes it made, how many microseconds that took, and how long the
    /// slowest hundredth of them took; so on until the input ends.
    func serve(_ subject: Subject, adding: Bool) throws {
        try subject.store.set(subject.name(0), sampleValue(0))
        Self.next.store(Int(getpid()) * 10_000_000, ordering: .relaxed)
        say("ready")
        while let line = readLine(), let seconds = Double(line) {
            let start = DispatchTime.now().uptimeNanoseconds
            let end = start + UInt64(seconds * 1e9)
            let times = Self.write(until: end, itemCount, adding: adding) {
                try subject.store.set($0, $1)
            }
            let time = Double(DispatchTime.now().uptimeNanoseconds - start) / 1000
            say(String(format: "%d %.1f %.1f", times.count, time, percentile(0.99, of: times)))
        }
    }
}
