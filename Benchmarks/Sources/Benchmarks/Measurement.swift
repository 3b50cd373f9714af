// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Times one thread's calls of all stores side by side, first writes first.
struct Measurement {
    let itemCount: Int
    let folder: String
    let isQuick: Bool
    let report: (Figure) -> Void
    let subjects: [Subject]

    init(itemCount: Int, folder: String, isQuick: Bool, report: @escaping (Figure) -> Void) {
        self.itemCount = itemCount
        self.folder = folder
        self.isQuick = isQuick
        self.report = report
        subjects = Subject.Label.allCases.compactMap { Subject($0, in: folder) }
    }

    func run() throws {
        try firstWrites()
        try warmUp()
        try read("uniform", .uniform(itemCount))
        try read("zipf", .zipf(itemCount))
        try write()
        if itemCount <= 10_000 { try list() }
    }

    /// The first writes on a fresh copy. Each allocates room for the log, for which the file system
    /// commits its own journal.
    private func firstWrites() throws {
        var numbers = RandomNumbers(seed: 1)
        let turns = Turns(subjects: subjects, rounds: 20, perBlock: 5)
        let blocks = try turns.blocks {
            .random(in: 0..<itemCount, using: &numbers)
        } _: {
            try $0.set($1, $2)
        }
        report(Figure("set existing, fresh log", itemCount, blocks: blocks))
    }

    /// Writes until each log was begun anew once: from then on its file is only overwritten.
    private func warmUp() throws {
        var numbers = RandomNumbers(seed: 2)
        var said: [String] = []
        for subject in subjects {
            guard let start = subject.logSequence(in: folder) else { continue }
            var count = 0
            while subject.logSequence(in: folder) == start {
                precondition(count < 100_000, "the log of \(subject.label) is never begun anew")
                for _ in 0..<50 {
                    let number = Int.random(in: 0..<itemCount, using: &numbers)
                    try subject.store.set(
                        subject.name(number), sampleValue(.random(in: 0 ... .max)))
                    count += 1
                }
            }
            said.append("\(subject.label) after \(count) writes")
        }
        let text =
            "(\(itemCount) items, each log was begun anew: \(said.joined(separator: ", ")))\n"
        FileHandle.standardError.write(Data(text.utf8))
    }

    private func read(_ kind: String, _ popularity: Popularity) throws {
        var numbers = RandomNumbers(seed: 3)
        // Fills the stores' caches, as those of a program are that runs for a while.
        let warmUp = Turns(subjects: subjects, rounds: 10, perBlock: min(30 * itemCount, 30_000))
        _ = try warmUp.blocks {
            popularity.draw(&numbers)
        } _: { store, name, _ in
            try store.get(name)
        }
        let turns = Turns(subjects: subjects, rounds: isQuick ? 21 : 41, perBlock: 5_000)
        let gets = try turns.blocks {
            popularity.draw(&numbers)
        } _: { store, name, _ in
            try store.get(name)
        }
        report(Figure("get \(kind)", itemCount, blocks: gets))
        let each = try turns.each {
            popularity.draw(&numbers)
        } _: { store, name, _ in
            try store.get(name)
        }
        reportPercentiles("get \(kind)", each)
        guard kind == "uniform" else { return }
        let contains = try turns.blocks {
            popularity.draw(&numbers)
        } _: { store, name, _ in
            try store.contains(name)
        }
        report(Figure("contains", itemCount, blocks: contains))
    }

    private func write() throws {
        var numbers = RandomNumbers(seed: 4)
        try write("set existing") { .random(in: 0..<itemCount, using: &numbers) }
        var next = itemCount
        try write("set new") {
            next += 1
            return next - 1
        }
    }

    /// Blocks without a checkpoint decide the median; the mean has its share of checkpoints.
    private func write(_ name: String, _ numbers: () -> Int) throws {
        let turns = Turns(subjects: subjects, rounds: isQuick ? 40 : 80, perBlock: 25)
        let each = try turns.each(numbers) { try $0.set($1, $2) }
        let blocks = each.mapValues { times in
            stride(from: 0, to: times.count, by: turns.perBlock).map { start in
                times[start..<start + turns.perBlock].reduce(0, +) / Double(turns.perBlock)
            }
        }
        report(Figure(name, itemCount, blocks: blocks))
        report(
            Figure(name + " mean", itemCount, each.mapValues { $0.reduce(0, +) / Double($0.count) })
        )
        reportPercentiles(name, each)
    }

    private func reportPercentiles(_ name: String, _ each: [Subject.Label: [Double]]) {
        for (title, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
            report(
                Figure("\(name) \(title)", itemCount, each.mapValues { percentile(share, of: $0) }))
        }
    }

    /// All names of the keychain, beside those of the table in random order.
    private func list() throws {
        var blocks: [Subject.Label: [Double]] = [:]
        for _ in 0..<(isQuick ? 5 : 11) {
            for subject in subjects where subject.label != .lmdb {
                var count = itemCount
                let time = try microseconds(per: 1) {
                    switch subject.store {
                    case let raw as RawStore: count = raw.list().count
                    case let ours as ValetStore: count = try ours.valet.allKeys().count
                    default: break
                    }
                }
                precondition(count >= itemCount, "names are missing")
                blocks[subject.label, default: []].append(time)
            }
        }
        report(Figure("allKeys", itemCount, blocks: blocks))
    }
}
