// SPDX-License-Identifier: Apache-2.0

// How the command reads and writes durations, and writes points in time.

/// Durations on the command line: `90s`, `15m`, `8h`, `2d`, `1h30m`.
package enum DurationText {
    /// The accepted form, for messages.
    static let explanation = "whole numbers with s, m, h or d, the largest first: 90s, 15m, 1h30m"
    /// A year and a day.
    static let longest = Duration.seconds(366 * 86_400)

    private static let units: [(letter: Character, seconds: Int64)] = [
        ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1),
    ]

    /// Reads the value of an option; nil if it is not given.
    ///
    /// - Throws: ``ExitCode/usage``, with the accepted form as a hint.
    package static func value(
        of option: OptionDeclaration, in values: ParsedValues
    ) throws(CLIError) -> Duration? {
        guard let text = values[option] else { return nil }
        guard let duration = duration(text) else {
            throw .usage(
                "'\(option.spelling)' does not take \(quoted(text))",
                hint: "it takes \(explanation), up to 366d")
        }
        return duration
    }

    /// The duration of a text. Each unit occurs at most once, the largest first, with ASCII digits.
    /// nil for other texts, for zero, and for more than ``longest``.
    static func duration(_ text: String) -> Duration? {
        var rest = text[...]
        var seconds: Int64 = 0
        var units = units[...]
        while !rest.isEmpty {
            let digits = rest.prefix { "0"..."9" ~= $0 }
            rest = rest.dropFirst(digits.count)
            guard let letter = rest.popFirst(), let count = Int64(digits),
                let index = units.firstIndex(where: { $0.letter == letter }),
                count <= longest.components.seconds / units[index].seconds
            else { return nil }
            seconds += count * units[index].seconds
            units = units[(index + 1)...]
        }
        let duration = Duration.seconds(seconds)
        return duration > .zero && duration <= longest ? duration : nil
    }

    /// The duration in the form that ``duration(_:)`` reads, in whole seconds.
    package static func text(_ duration: Duration) -> String {
        var rest = duration.components.seconds
        var text = ""
        for unit in units {
            let (count, remainder) = rest.quotientAndRemainder(dividingBy: unit.seconds)
            if count > 0 { text += "\(count)\(unit.letter)" }
            rest = remainder
        }
        return text.isEmpty ? "0s" : text
    }
}

/// Writes points in time. Loading a calendar library would cost more than reading a secret.
package enum Timestamp {
    private static let secondsPerDay = 86_400
    /// Days from 0000-03-01 to 2001-01-01 in the Gregorian calendar.
    private static let daysTo2001 = 730_791
    /// The years 0001 to 9999, which have four digits.
    private static let years = -63_113_904_000.0..<252_423_993_600.0

    /// ISO 8601 in UTC, `2001-01-01T00:00:00Z`; nil if the year does not have four digits.
    package static func text(secondsSince2001 seconds: Double) -> String? {
        guard years.contains(seconds) else { return nil }
        let whole = Int(seconds.rounded(.down))
        let second = whole.modulo(secondsPerDay)
        let (year, month, day) = date(daysSince2001: (whole - second) / secondsPerDay)
        var text: [UInt8] = []
        for (number, count, separator) in [
            (year, 4, "-"), (month, 2, "-"), (day, 2, "T"), (second / 3600, 2, ":"),
            (second / 60 % 60, 2, ":"), (second % 60, 2, "Z"),
        ] {
            text += number.digits(count)
            text += separator.utf8
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The Gregorian date. Counts years from March, so that the leap day ends a year.
    private static func date(daysSince2001: Int) -> (year: Int, month: Int, day: Int) {
        let days = daysSince2001 + daysTo2001
        let dayOfEra = days.modulo(146_097)
        let era = (days - dayOfEra) / 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
    }
}

extension Int {
    /// The remainder that has the sign of the divisor.
    fileprivate func modulo(_ divisor: Int) -> Int {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }

    /// The last `count` decimal digits in ASCII, with leading zeros.
    fileprivate func digits(_ count: Int) -> [UInt8] {
        var (rest, digits) = (self, [UInt8](repeating: UInt8(ascii: "0"), count: count))
        for place in digits.indices.reversed() {
            digits[place] += UInt8(rest % 10)
            rest /= 10
        }
        return digits
    }
}
