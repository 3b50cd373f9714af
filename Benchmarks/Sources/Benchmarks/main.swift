// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet

let arguments = CommandLine.arguments
switch arguments.dropFirst().first {
case "populate":
    let count = Int(arguments[2]) ?? 0
    let raw = RawStore(path: arguments[3], .rowid)
    raw.run("BEGIN")
    let valet = Measurement.valet("benchmark")
    for number in 0..<count {
        let key = Measurement.key(number)
        raw.set(key, Measurement.value(number))
        try valet.setObject(Data(Measurement.value(number)), forKey: key)
    }
    raw.run("COMMIT")
    let many = Measurement.valet("ten-thousand")
    for number in 0..<10_000 {
        try many.setObject(Data(Measurement.value(number)), forKey: Measurement.key(number))
    }
case "measure":
    try Measurement(itemCount: Int(arguments[2]) ?? 0, raw: RawStore(path: arguments[3], .rowid)).run()
case "sets":
    let valet = Measurement.valet("benchmark")
    for number in 0..<50_000 {
        try valet.setObject(Data(Measurement.value(number)), forKey: Measurement.key(number % 10))
    }
case "loop":
    let valet = Measurement.valet("benchmark")
    let count = Int(arguments[2]) ?? 0
    for number in 0..<(arguments.count > 3 ? Int(arguments[3]) ?? 0 : 200_000) { _ = try valet.object(forKey: Measurement.key(number % count)) }
default: print("usage")
}
