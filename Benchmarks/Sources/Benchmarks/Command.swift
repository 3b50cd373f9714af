// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the program is told to do; `scripts/benchmark` tells it.
struct Command {
    private let task: String
    private let count: Int
    private let folder: String
    private let label: Subject.Label
    private let isQuick: Bool
    private let isJSON: Bool
    private let addsItems: Bool

    private static let usage = """
        usage: Benchmarks TASK COUNT FOLDER [--quick] [--json] [--store STORE] [--new]

        The stores in FOLDER: valet (in FOLDER/keychain), random and ordered (plain SQLite), lmdb.

        populate   fills all stores with COUNT items; on a disk each item of valet is a commit
        measure    times one thread's calls of all stores, which have COUNT items
        threads    times 1, 4 and 16 threads that write
        serve      is one of several processes that write: scripts/benchmarks/suite.py
        memory     prints the KiB that reads of STORE with COUNT items take
        read, write, list
                   reads or writes 10 items of STORE, or lists them, COUNT times: for profilers;
                   write --new adds COUNT items
        get        prints the microseconds of a read of COUNT items
        locked     prints those until a locked keychain answers: the median and the slowest
        gated, bound
                   prints those of COUNT reads of plain items, those of items that a person was
                   asked for once, or that are bound to the passcode, and the ratio
        person     makes COUNT reads of an item that a person was asked for once: for profilers

        """

    init(_ arguments: [String]) {
        var words = Array(arguments.dropFirst())
        func take(_ flag: String) -> Bool {
            guard let index = words.firstIndex(of: flag) else { return false }
            words.remove(at: index)
            return true
        }
        isQuick = take("--quick")
        isJSON = take("--json")
        addsItems = take("--new")
        var label = Subject.Label.valet
        if let index = words.firstIndex(of: "--store"), index + 1 < words.count {
            guard let named = Subject.Label(rawValue: words[index + 1]) else { Self.fail() }
            label = named
            words.removeSubrange(index...index + 1)
        }
        self.label = label
        guard words.count == 3, let count = Int(words[1]), count > 0 else { Self.fail() }
        (task, self.count, folder) = (words[0], count, words[2])
    }

    private static func fail() -> Never {
        FileHandle.standardError.write(Data(usage.utf8))
        exit(64)
    }

    /// The subject that `--store` names.
    private func subject() -> Subject {
        guard let subject = Subject(label, in: folder) else {
            FileHandle.standardError.write(Data("Benchmarks: error: no store \(label)\n".utf8))
            exit(1)
        }
        return subject
    }

    private func report(_ figure: Figure) {
        say(isJSON ? figure.object : figure.line)
    }

    func run() throws {
        setenv("VALET_HOME", folder + "/keychain", 1)
        if !isJSON, ["measure", "threads"].contains(task) { say(Figure.header) }
        let writers = Writers(itemCount: count, folder: folder, isQuick: isQuick)
        switch task {
        case "populate": try populate(folder, count)
        case "measure":
            try Measurement(itemCount: count, folder: folder, isQuick: isQuick, report: report)
                .run()
        case "threads":
            try writers.measureThreads(report)
        case "serve": try writers.serve(subject(), adding: addsItems)
        case "memory": say(String(try Memory.ofReads(subject(), itemCount: count)))
        case "read":
            let subject = subject()
            for number in 0..<count { try subject.store.get(subject.name(number % 10)) }
        case "write":
            let subject = subject()
            for number in 0..<count {
                let place = addsItems ? 1_000_000 + number : number % 10
                try subject.store.set(subject.name(place), sampleValue(number))
            }
        case "list":
            let valet = ValetStore.named("benchmark")
            for _ in 0..<count { _ = try valet.allKeys() }
        case "get":
            let valet = ValetStore.named("benchmark")
            say(String(format: "%.2f", try Availability.read(from: valet, itemCount: count)))
        case "locked":
            let valet = ValetStore.lockable("benchmark")
            let (median, slowest) = Availability.lockedAnswers(of: valet)
            say(String(format: "%.2f %.2f", median, slowest))
        case "gated", "bound":
            let presence = try Presence(task == "gated" ? .userPresence : .devicePasscode)
            let (plain, asked) = try presence.read(count)
            say(String(format: "%.2f %.2f %.2f", plain, asked, asked / plain))
        case "person": try Presence(.userPresence).read(again: count)
        default: Self.fail()
        }
    }
}

/// Prints a line at once: somebody may be waiting for it at the other end of a pipe.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
