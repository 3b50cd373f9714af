// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Fills all stores in `folder` with `count` items each.
func populate(_ folder: String, _ count: Int) throws {
    for label in [Subject.Label.random, .ordered] {
        guard let subject = Subject(label, in: folder), let raw = subject.store as? RawStore
        else { preconditionFailure("no SQLite") }
        raw.run("BEGIN")
        for number in 0..<count { raw.set(subject.name(number), sampleValue(number)) }
        raw.run("COMMIT")
    }
    LMDBStore(path: folder + "/lmdb.db")?.fill((0..<count).map(Names.random), sampleValue(0))
    let ours = ValetStore(valet: ValetStore.named("benchmark"))
    for number in 0..<count { try ours.set(Names.random(number), sampleValue(number)) }
    // What a passcode locks: `locked` asks for it.
    try ValetStore(valet: ValetStore.lockable("benchmark")).set(Names.random(0), sampleValue(0))
}

/// What a process that reads takes of the machine's memory.
enum Memory {
    /// KiB at most: after reads of uniformly random items, and after many of popular ones.
    static func ofReads(_ subject: Subject, itemCount: Int) throws -> Int {
        for popularity in [Popularity.uniform(itemCount), .zipf(itemCount)] {
            // In steps, so that the names to read take next to nothing.
            let turns = Turns(subjects: [subject], rounds: 200, perBlock: 1_000)
            var numbers = RandomNumbers(seed: 5)
            _ = try turns.blocks {
                popularity.draw(&numbers)
            } _: { store, name, _ in
                try store.get(name)
            }
        }
        return try largest()
    }

    /// The largest resident memory of this process since it was executed, in KiB.
    private static func largest() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let number = line?.split(separator: " ").dropFirst().first
        return number.flatMap { Int($0) } ?? 0
    }
}
