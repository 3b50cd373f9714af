// SPDX-License-Identifier: Apache-2.0

/// Durations as the command line has them: `90s`, `15m`, `8h`, `2d`, `1h30m`.
enum DurationText {
    /// What messages say.
    static let explanation = "whole numbers with s, m, h or d, the largest first: 90s, 15m, 1h30m"
    /// A year and a day.
    static let longest = Duration.seconds(366 * 86_400)

    private static let units: [(letter: Character, seconds: Int64)] = [
        ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1),
    ]

    /// Reads the value of an option; nil where it was not given.
    ///
    /// - Throws: ``ExitCode/usage``, with what would be taken.
    static func value(
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

    /// Each unit once at most, the largest first, digits of ASCII; more than nothing, and no more
    /// than ``longest``. Nil for anything else.
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

    /// The duration in the form in which it is read, seconds being the least.
    static func text(_ duration: Duration) -> String {
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
