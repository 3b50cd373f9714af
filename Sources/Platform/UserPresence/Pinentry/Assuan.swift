// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// One line of a pinentry's answer, in the Assuan protocol.
enum AssuanLine: Equatable {
    /// The longest line, without its newline.
    static let maximumByteCount = 1000

    case ok
    /// The command failed, for this reason.
    case error(PinentryRefusal)
    /// A part of the answer: these bytes of the line, still encoded.
    case data(Range<Int>)
    /// A status line; whether it reports that the person typed the passcode twice.
    case status(isRepeated: Bool)

    /// Parses a line without its newline; nil if it is too long or none of these.
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
            self = .error(PinentryRefusal(number: number))
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

/// The error that a pinentry program answers with.
struct PinentryRefusal: Equatable, CustomStringConvertible {
    /// The source of the error in the upper 8 bits, the reason in the lower 16.
    let number: UInt32

    var description: String { "pinentry error \(number)" }

    var failure: SystemError {
        .asking(SystemError.Code(code.name, "\(code.reason) (\(self))"))
    }

    var code: SystemError.Code {
        switch number & 0xFFFF {
        case 99, 114, 198: .cancelled
        case 62: .timedOut
        default: .pinentryUnusable
        }
    }
}

/// The encoding of bytes in lines of the Assuan protocol: `%` and two hexadecimal digits.
enum PercentEncoding {
    /// Encodes text for a line, cut at a character so that it has at most `limit` bytes.
    static func encode(_ text: String, upTo limit: Int) -> [UInt8] {
        var result: [UInt8] = []
        for scalar in text.unicodeScalars {
            var piece: [UInt8] = []
            for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                switch byte {
                case 0..<0x20, 0x7F, UInt8(ascii: "%"):
                    piece += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
                default: piece.append(byte)
                }
            }
            guard result.count + piece.count <= limit else { break }
            result += piece
        }
        return result
    }

    /// Appends the bytes that `line` stands for to `answer`, up to `limit` bytes in all.
    ///
    /// - Throws: `malformed` if a `%` is not followed by two hexadecimal digits; `tooLong`.
    static func decode(
        _ line: Span<UInt8>, into answer: inout SecretInput, upTo limit: Int
    ) throws(SystemError) {
        var index = 0
        while index < line.count {
            var byte = line[index]
            index += 1
            if byte == UInt8(ascii: "%") {
                guard index + 1 < line.count, let high = value(line[index]),
                    let low = value(line[index + 1])
                else { throw SystemError.asking(.malformed) }
                byte = high << 4 | low
                index += 2
            }
            guard answer.byteCount < limit else { throw SystemError.asking(.tooLong) }
            answer.append(byte)
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x41 + value - 10
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}
