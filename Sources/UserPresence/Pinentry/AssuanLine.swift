// SPDX-License-Identifier: Apache-2.0

/// One line of a pinentry's answer, in the Assuan protocol.
enum AssuanLine: Equatable {
    /// The longest line, without its newline.
    static let maximumByteCount = 1000

    /// The request was carried out.
    case ok
    /// It failed, for this reason.
    case error(PinentryError)
    /// A piece of the answer: these bytes of the line, still encoded.
    case data(Range<Int>)
    /// A remark; whether it says that the person typed the passcode twice.
    case status(isRepeated: Bool)

    /// Reads a line without its newline; `nil` if it is none of the above.
    init?(_ line: Span<UInt8>) {
        guard line.count <= Self.maximumByteCount else { return nil }
        if Self.starts(line, with: "D ") {
            self = .data(2..<line.count)
        } else if Self.starts(line, with: "S PIN_REPEATED"), Self.ends(line, at: 14) {
            self = .status(isRepeated: true)
        } else if Self.starts(line, with: "S ") || Self.starts(line, with: "#") {
            self = .status(isRepeated: false)
        } else if Self.starts(line, with: "OK"), Self.ends(line, at: 2) {
            self = .ok
        } else if Self.starts(line, with: "ERR "), let number = Self.number(line, from: 4) {
            self = .error(PinentryError(number: number))
        } else {
            return nil
        }
    }

    private static func starts(_ line: Span<UInt8>, with text: String) -> Bool {
        guard line.count >= text.utf8.count else { return false }
        for (index, byte) in text.utf8.enumerated() where line[index] != byte { return false }
        return true
    }

    /// Whether a word ends at `index`.
    private static func ends(_ line: Span<UInt8>, at index: Int) -> Bool {
        line.count == index || line[index] == UInt8(ascii: " ")
    }

    private static func number(_ line: Span<UInt8>, from start: Int) -> UInt32? {
        var number: UInt32 = 0
        var index = start
        while index < line.count, line[index] != UInt8(ascii: " ") {
            guard case 0x30...0x39 = line[index] else { return nil }
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooLargeAfterAll) = product.addingReportingOverflow(
                UInt32(line[index] - 0x30))
            guard !isTooLarge, !isTooLargeAfterAll else { return nil }
            number = sum
            index += 1
        }
        return index > start ? number : nil
    }
}

/// Why a pinentry did not do what it was asked to.
struct PinentryError: Error, Equatable, CustomStringConvertible {
    /// The number it gave: who failed in the upper 8 bits, why in the lower 16.
    let number: UInt32

    var description: String { "pinentry error \(number)" }

    /// What it means for the caller.
    var code: UserPresenceError.Code {
        switch number & 0xFFFF {
        case 99, 114, 198: .cancelled
        case 62: .timedOut
        default: .unavailable(.pinentry)
        }
    }
}
