// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet

/// What the program is told to do; `scripts/benchmark` tells it.
enum Task: String {
    /// Fill a keychain and a plain table with so many items.
    case populate
    /// Time both side by side.
    case measure
    /// Read, write or list the same items again and again: for profilers and tracers.
    case read, write, list
    /// Print how long a read takes, in microseconds: a number that is there, or a locked answer.
    case get, locked
    /// Print how long reads take in microseconds, of plain items and of those that a person was
    /// asked for once: `gated`, or bound to the passcode.
    case gated, bound
    /// Read what a person was asked for again and again: for profilers.
    case person
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let task = Task(rawValue: arguments[1]), let count = Int(arguments[2])
else {
    FileHandle.standardError.write(
        Data(
            """
            usage: Benchmarks TASK COUNT RAW-DATABASE
            TASK: populate|measure|read|write|list|get|locked|gated|bound|person

            """
            .utf8))
    exit(64)
}

let valet = Measurement.valet("benchmark")
switch task {
case .populate:
    let raw = RawStore(path: arguments[3], .rowid)
    raw.run("BEGIN")
    for number in 0..<count {
        let key = Measurement.key(number)
        raw.set(key, Measurement.value(number))
        try valet.setObject(Data(Measurement.value(number)), forKey: key)
    }
    raw.run("COMMIT")
    try Measurement.lockable("benchmark").setObject(
        Data(Measurement.value(0)), forKey: Measurement.key(0))
    let many = Measurement.valet("ten-thousand")
    for number in 0..<10_000 {
        try many.setObject(Data(Measurement.value(number)), forKey: Measurement.key(number))
    }
case .measure:
    try Measurement(itemCount: count, raw: RawStore(path: arguments[3], .rowid)).run()
case .read:
    for number in 0..<count { _ = try valet.object(forKey: Measurement.key(number % 10)) }
case .list:
    let many = Measurement.valet("ten-thousand")
    for _ in 0..<count { _ = try many.allKeys() }
case .get: print(String(format: "%.2f", try Availability.read(from: valet, itemCount: count)))
case .locked:
    let (median, slowest) = Availability.lockedAnswers(of: Measurement.lockable("benchmark"))
    print(String(format: "%.2f %.2f", median, slowest))
case .gated, .bound:
    let (plain, asked) = try Presence(task == .gated ? .userPresence : .devicePasscode).read(count)
    print(String(format: "%.2f %.2f %.2f", plain, asked, asked / plain))
case .person: try Presence(.userPresence).read(again: count)
case .write:
    for number in 0..<count {
        let value = Data(Measurement.value(number))
        try valet.setObject(value, forKey: Measurement.key(number % 10))
    }
}
