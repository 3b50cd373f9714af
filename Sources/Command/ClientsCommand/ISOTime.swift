// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI

/// Reads points in time as ISO 8601 writes them. The tools of AWS write several of its forms.
struct ISOTime {
    /// Seconds since 1970-01-01 00:00 UTC, without the fraction.
    let seconds: Int64
    /// Whether the text was in the form of RFC 3339, which every tool reads.
    let isInternet: Bool

    /// The years 1970 to 9999.
    private static let range: ClosedRange<Int64> = 0...253_402_300_799

    /// Reads a date, or a date and a time; nil for other text, and outside of the years 1970 to
    /// 9999. A time without a zone is one in UTC.
    init?(_ text: String) {
        var reader = Reader(bytes: Array(text.utf8)[...])
        guard let days = reader.days() else { return nil }
        var seconds = days * 86_400
        let hasTime = !reader.bytes.isEmpty
        if hasTime {
            guard reader.skip("Tt "), let time = reader.time(), let offset = reader.offset(),
                reader.bytes.isEmpty
            else { return nil }
            seconds += time - offset
        }
        guard Self.range.contains(seconds) else { return nil }
        self.seconds = seconds
        isInternet = hasTime && reader.isInternet
    }

    /// The time of a number of seconds or milliseconds since 1970; nil outside of the years 1970 to
    /// 9999.
    init?(sinceEpoch number: Int64) {
        // 10^11 seconds after 1970 is the year 5138.
        let seconds = number > 100_000_000_000 ? number / 1000 : number
        guard Self.range.contains(seconds) else { return nil }
        (self.seconds, isInternet) = (seconds, false)
    }

    /// The time in UTC: `2001-01-01T00:00:00Z`.
    var text: String {
        Timestamp.text(secondsSince2001: Double(seconds - 978_307_200)) ?? ""
    }

    /// Reads a text from its start. Every number has at most four digits, so that no sum overflows.
    private struct Reader {
        var bytes: ArraySlice<UInt8>
        /// Whether the text up to here has the form of RFC 3339.
        var isInternet = true
        /// Whether the parts are separated: 2001-01-01, not 20010101.
        var isExtended = false

        /// Passes over one of these characters.
        mutating func skip(_ characters: String) -> Bool {
            guard let byte = bytes.first, characters.utf8.contains(byte) else { return false }
            if byte != characters.utf8.first { isInternet = false }
            bytes.removeFirst()
            return true
        }

        /// A number of exactly so many digits.
        mutating func number(_ count: Int) -> Int64? {
            let digits = bytes.prefix(count)
            guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
                return nil
            }
            bytes.removeFirst(count)
            return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        }

        /// The days from 1970-01-01 to a date.
        mutating func days() -> Int64? {
            guard let year = number(4) else { return nil }
            isExtended = skip("-")
            let digits = bytes.prefix { (0x30...0x39).contains($0) }.count
            if skip("W") { return week(of: year) }
            if digits == 3 {
                isInternet = false
                guard let day = number(3), 1...(ISOTime.isLeap(year) ? 366 : 365) ~= day else {
                    return nil
                }
                return ISOTime.days(to: year, 1, 1) + day - 1
            }
            guard let month = number(2), 1...12 ~= month, isExtended == skip("-"),
                let day = number(2), 1...ISOTime.length(of: month, in: year) ~= day
            else { return nil }
            isInternet = isInternet && isExtended
            return ISOTime.days(to: year, month, day)
        }

        private mutating func week(of year: Int64) -> Int64? {
            isInternet = false
            guard let week = number(2), 1...53 ~= week, isExtended == skip("-"),
                let day = number(1), 1...7 ~= day
            else { return nil }
            // Week 1 contains January 4th. Weeks begin on a Monday, and 1969-12-29 was a Monday.
            let fourth = ISOTime.days(to: year, 1, 4)
            return fourth - (fourth + 3) % 7 + (week - 1) * 7 + day - 1
        }

        /// The seconds from midnight to a time: hours, and perhaps minutes, seconds and a fraction.
        mutating func time() -> Int64? {
            guard let hour = number(2), hour <= 24 else { return nil }
            var (seconds, unit): (Int64, Int64) = (hour * 3600, 3600)
            isExtended = bytes.first == UInt8(ascii: ":")
            isInternet = isInternet && isExtended && hour < 24
            for (size, largest): (Int64, Int64) in [(60, 59), (1, 60)] {
                let rest = bytes
                let hasColon = skip(":")
                guard hasColon || bytes.first.map({ (0x30...0x39).contains($0) }) == true else {
                    isInternet = false
                    bytes = rest
                    break
                }
                guard hasColon == isExtended, let part = number(2), part <= largest else {
                    return nil
                }
                seconds += part * size
                unit = size
            }
            if skip(".,") {
                let digits = bytes.prefix { (0x30...0x39).contains($0) }
                guard !digits.isEmpty else { return nil }
                bytes.removeFirst(digits.count)
                // Nine digits are a billionth of the unit.
                let parts = digits.prefix(9).reduce(into: (value: Int64(0), scale: Int64(1))) {
                    $0 = ($0.value * 10 + Int64($1 - 0x30), $0.scale * 10)
                }
                seconds += parts.value * unit / parts.scale
            }
            return seconds <= 86_400 ? seconds : nil
        }

        /// The seconds by which a zone is ahead of UTC.
        mutating func offset() -> Int64? {
            guard !bytes.isEmpty else {
                isInternet = false
                return 0
            }
            if skip("Zz") { return 0 }
            let isAhead = bytes.first == UInt8(ascii: "+")
            guard isAhead || bytes.first == UInt8(ascii: "-") else { return nil }
            bytes.removeFirst()
            guard let hours = number(2), hours <= 23 else { return nil }
            var minutes: Int64 = 0
            let hasColon = skip(":")
            if hasColon || !bytes.isEmpty {
                guard let number = number(2), number <= 59 else { return nil }
                minutes = number
            }
            isInternet = isInternet && hasColon
            return (hours * 3600 + minutes * 60) * (isAhead ? 1 : -1)
        }
    }

    private static func isLeap(_ year: Int64) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    private static func length(of month: Int64, in year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The days from 1970-01-01 to a date of the Gregorian calendar.
    private static func days(to year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        // Years begin in March here, so that the leap day is the last one.
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
