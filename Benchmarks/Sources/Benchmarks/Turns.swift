// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Times the stores in turns of small blocks, so that all meet the same machine: the time of a
/// disk's sync can double from one second to the next.
struct Turns {
    let subjects: [Subject]
    let rounds: Int
    let perBlock: Int

    /// An operation on one item, with a value to write.
    typealias Operation = (any Store, String, [UInt8]) throws -> Void

    /// Microseconds per operation of each block, by store. Every store gets the same items, and
    /// each is the first in some rounds.
    func blocks(_ numbers: () -> Int, _ operation: Operation) throws -> [Subject.Label: [Double]] {
        try times(numbers) { store, work in
            let time = try microseconds(per: work.count) {
                for (name, value) in work { try operation(store, name, value) }
            }
            return [time]
        }
    }

    /// As above, for blocks that begin with a write, which is not timed.
    func blocksAfterWrite(
        _ numbers: () -> Int, _ operation: Operation
    ) throws -> [Subject.Label: [Double]] {
        try times(numbers) { store, work in
            let (name, value) = work[0]
            try store.set(name, value)
            let time = try microseconds(per: work.count - 1) {
                for (name, value) in work.dropFirst() { try operation(store, name, value) }
            }
            return [time]
        }
    }

    /// Microseconds of each operation, by store; among them some 0.03 for looking at the clock.
    func each(_ numbers: () -> Int, _ operation: Operation) throws -> [Subject.Label: [Double]] {
        try times(numbers) { store, work in
            var clock = [DispatchTime.now().uptimeNanoseconds]
            clock.reserveCapacity(work.count + 1)
            for (name, value) in work {
                try operation(store, name, value)
                clock.append(DispatchTime.now().uptimeNanoseconds)
            }
            return zip(clock, clock.dropFirst()).map { Double($1 - $0) / 1000 }
        }
    }

    private func times(
        _ numbers: () -> Int, _ block: (any Store, [(String, [UInt8])]) throws -> [Double]
    ) throws -> [Subject.Label: [Double]] {
        var times: [Subject.Label: [Double]] = [:]
        var values = RandomNumbers(seed: 6)
        for round in 0..<rounds {
            let drawn = (0..<perBlock).map { _ in numbers() }
            for turn in subjects.indices {
                let subject = subjects[(round + turn) % subjects.count]
                let work = drawn.map {
                    (subject.name($0), sampleValue(.random(in: 0 ... .max, using: &values)))
                }
                times[subject.label, default: []] += try block(subject.store, work)
            }
        }
        return times
    }
}

extension Figure {
    /// The medians of blocks, and the medians of the ratios of blocks of one round.
    init(_ measure: String, _ items: Int, blocks: [Subject.Label: [Double]]) {
        let ours = blocks[.valet] ?? []
        let others = blocks.filter { $0.key != .valet }
        self.init(
            measure, items, blocks.mapValues(median),
            ratios: others.mapValues { median(zip($0, ours).map { $0 / $1 }) })
    }
}

/// Runs `body` and returns microseconds per operation.
func microseconds(per operations: Int, _ body: () throws -> Void) rethrows -> Double {
    let start = DispatchTime.now().uptimeNanoseconds
    try body()
    return Double(DispatchTime.now().uptimeNanoseconds - start) / 1000 / Double(operations)
}
