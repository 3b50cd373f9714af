// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One figure of each store that was timed, and how the others compare with this package.
struct Figure {
    let measure: String
    let items: Int
    /// `us`, `KiB` and so on; less is better.
    let unit: String
    let values: [Subject.Label: Double]
    /// What another store takes, divided by what this package takes: above 1 this package is
    /// better. Medians of pairs where there are pairs.
    let ratios: [Subject.Label: Double]

    init(
        _ measure: String, _ items: Int, unit: String = "us", _ values: [Subject.Label: Double],
        ratios: [Subject.Label: Double]? = nil
    ) {
        self.measure = measure
        self.items = items
        self.unit = unit
        self.values = values
        let ours = values[.valet]
        self.ratios =
            ratios
            ?? values.filter { $0.key != .valet }.compactMapValues { value in
                ours.map { value / $0 }
            }
    }

    static let header = line(
        "measure", ["items", "raw random", "raw ordered", "lmdb", "valet", "ratio", "ordered"])

    /// A line of the table; the ratios are those of plain SQLite with random and ordered names.
    var line: String {
        let numbers = [values[.random], values[.ordered], values[.lmdb], values[.valet]]
        let columns = numbers + [ratios[.random], ratios[.ordered]]
        return Self.line("\(measure), \(unit)", [String(items)] + columns.map(Self.text))
    }

    /// An object of JSON, in one line.
    var object: String {
        let fields: [String: Any] = [
            "measure": measure, "items": items, "unit": unit,
            "values": Self.rounded(values), "ratios": Self.rounded(ratios),
        ]
        guard let data = try? JSONSerialization.data(withJSONObject: fields, options: .sortedKeys)
        else { preconditionFailure("not JSON: \(fields)") }
        return String(decoding: data, as: UTF8.self)
    }

    private static func text(_ value: Double?) -> String {
        value.map { String(format: $0 < 1000 ? "%.2f" : "%.0f", $0) } ?? "-"
    }

    private static func rounded(_ values: [Subject.Label: Double]) -> [String: Double] {
        let pairs = values.map { ($0.key.rawValue, ($0.value * 1000).rounded() / 1000) }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    private static func line(_ title: String, _ columns: [String]) -> String {
        let padded = columns.map { String(repeating: " ", count: max(1, 12 - $0.count)) + $0 }
        return title + String(repeating: " ", count: max(0, 30 - title.count)) + padded.joined()
    }
}

/// The median; the mean of the middle two if their number is even.
func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
}

/// The value below which `share` of all values lie.
func percentile(_ share: Double, of values: [Double]) -> Double {
    values.sorted()[Int(Double(values.count - 1) * share)]
}
