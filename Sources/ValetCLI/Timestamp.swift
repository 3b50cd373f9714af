// SPDX-License-Identifier: Apache-2.0

/// Writes points in time. Calendars of libraries cost more to load than a secret to read.
enum Timestamp {
    private static let secondsPerDay = 86_400
    /// Days from 0000-03-01 to 2001-01-01 in the Gregorian calendar.
    private static let daysTo2001 = 730_791
    /// The years 0001 to 9999, which four digits hold.
    private static let years = -63_113_904_000.0..<252_423_993_600.0

    /// ISO 8601 in UTC, `2001-01-01T00:00:00Z`; nil for times that four digits of years do not
    /// reach.
    static func text(secondsSince2001 seconds: Double) -> String? {
        guard years.contains(seconds) else { return nil }
        let whole = Int(seconds.rounded(.down))
        let second = whole.modulo(secondsPerDay)
        let (year, month, day) = date(daysSince2001: (whole - second) / secondsPerDay)
        let date = "\(year.digits(4))-\(month.digits(2))-\(day.digits(2))"
        let time = [second / 3600, second / 60 % 60, second % 60].map { $0.digits(2) }
        return date + "T" + time.joined(separator: ":") + "Z"
    }

    /// Counts years from March, so that the leap day is the last day of a year.
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

    /// Decimal digits with zeros in front.
    fileprivate func digits(_ count: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, count - digits.count)) + digits
    }
}
