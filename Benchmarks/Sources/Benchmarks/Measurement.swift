// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Times one thread's calls of all stores side by side.
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
        try WarmUp(itemCount: itemCount, folder: folder).beginLogsAnew(of: subjects)
        try read("uniform", .uniform(itemCount))
        try read("zipf", .zipf(itemCount))
        try write()
        if itemCount <= 10_000 { try list() }
    }

    private func read(_ kind: String, _ popularity: Popularity) throws {
        var numbers = RandomNumbers(seed: 3)
        // Fills the stores' caches, as those of a program are that runs for a while. A write drops
        // what earlier reads left in them.
        for subject in subjects {
            try subject.store.set(subject.name(0), sampleValue(.random(in: 0 ... .max)))
        }
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
        guard kind == "uniform" else { return try readBetweenWrites(popularity) }
        let contains = try turns.blocks {
            popularity.draw(&numbers)
        } _: { store, name, _ in
            try store.contains(name)
        }
        report(Figure("contains", itemCount, blocks: contains))
    }

    /// A hundred reads after each write, which may make a store forget what it keeps in memory.
    private func readBetweenWrites(_ popularity: Popularity) throws {
        var numbers = RandomNumbers(seed: 7)
        let turns = Turns(subjects: subjects, rounds: isQuick ? 51 : 201, perBlock: 101)
        let gets = try turns.blocksAfterWrite {
            popularity.draw(&numbers)
        } _: { store, name, _ in
            try store.get(name)
        }
        report(Figure("get zipf after each set", itemCount, blocks: gets))
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
