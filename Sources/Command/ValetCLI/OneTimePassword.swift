// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing
internal import ValetSystem

/// What makes one-time codes: a secret key with its parameters, from an `otpauth://` URI or from
/// the key alone in base32. `valet otp` uses it.
struct OneTimePassword {
    /// What a code depends on beside the key.
    enum Factor: Hashable {
        /// The time since 1970, in periods of so many seconds (RFC 6238).
        case time(period: Int64)
        /// A number that grows by one with each code (RFC 4226).
        case counter(UInt64)
    }

    private(set) var hash = HMAC.sha1
    private(set) var digitCount = 6
    private(set) var factor = Factor.time(period: 30)
    let key: SecretValue
    /// Whether the stored secret was a key alone, not a URI.
    private(set) var isBare = false

    static let digitCounts = 6...10
    static let periods: ClosedRange<Int64> = 1...86_400
    /// The counter after a code has to be stored with it.
    static let counters: ClosedRange<UInt64> = 0...(.max - 1)
    /// More than any issuer writes.
    static let maximumByteCount = 16 << 10

    /// A key in base32 with its parameters.
    init(
        base32 text: SecretValue, _ hash: HMAC = .sha1, digitCount: Int = 6,
        _ factor: Factor = .time(period: 30)
    ) throws(CLIError) {
        guard let key = Base32.decoded(text) else {
            throw .malformed("the secret key is not base32")
        }
        (self.hash, self.digitCount, self.factor, self.key) = (hash, digitCount, factor, key)
    }

    /// Whether a text, or a line of it, is an `otpauth://` URI.
    static func hasURI(_ text: SecretValue) -> Bool { OTPAuthURI.line(in: text) != nil }

    /// Reads a stored secret: a URI, a key in base32, or lines of which one has a URI, as in the
    /// entries of pass.
    init(_ stored: SecretValue) throws(CLIError) {
        let text = OTPAuthURI.line(in: stored).map(stored.part) ?? stored.withoutTextMarks.trimmed
        if text.starts(with: "steam:") || text.starts(with: OTPAuthURI.scheme + "steam") {
            throw .steam
        }
        if text.starts(with: "otpauth-") {
            throw .malformed(
                "it is an export of several accounts", hint: "export each account by itself")
        }
        guard text.starts(with: OTPAuthURI.scheme) else {
            if text.hasColon { throw .malformed("it is neither an otpauth:// URI nor base32") }
            self = try OneTimePassword(base32: text)
            isBare = true
            return
        }
        let uri = OTPAuthURI(text)
        guard let secret = try uri.value("secret"), let key = Base32.decoded(secret) else {
            throw .malformed("it has no secret key in base32")
        }
        self.key = key
        try read(uri)
    }

    private mutating func read(_ uri: OTPAuthURI) throws(CLIError) {
        let isSteam = uri.words("encoder").contains("steam")
        if let text = try uri.text("digits") {
            if isSteam || uri.words("issuer").contains("steam") && text == "5" { throw .steam }
            digitCount = try Self.number(text, Self.digitCounts, "digits")
        }
        if isSteam { throw .steam }
        if let word = try uri.text("algorithm") {
            guard let known = Self.hash(word) else {
                throw .malformed("'algorithm' is none of SHA1, SHA256 and SHA512")
            }
            hash = known
        }
        switch uri.type {
        case "totp":
            let text = try uri.text("period")
            let period = try text.map { (text) throws(CLIError) in
                try Self.number(text, Self.periods, "period")
            }
            factor = .time(period: period ?? 30)
        case "hotp":
            let text = try uri.text("counter") ?? "0"
            factor = .counter(try Self.number(text, Self.counters, "counter"))
        default: throw .malformed("it is neither 'totp' nor 'hotp'")
        }
    }

    /// A number in decimal digits.
    private static func number<N: FixedWidthInteger>(
        _ text: String, _ range: ClosedRange<N>, _ name: String
    ) throws(CLIError) -> N {
        guard let number = N(text), range.contains(number), !text.hasPrefix("+") else {
            // The text itself is not shown: if a separator is missing, it may contain the key.
            throw .malformed("'\(name)' is not from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The hash with that name, as issuers write it: `SHA1`, `sha-256`, `HmacSHA512`.
    static func hash(_ word: String) -> HMAC? {
        let letters = word.lowercased().filter { $0.isLetter || $0.isNumber }
        let name = letters.hasPrefix("hmac") ? String(letters.dropFirst(4)) : letters
        return HMAC.allCases.first { Self.word($0).lowercased() == name }
    }

    /// The word for a hash in a URI.
    static func word(_ hash: HMAC) -> String {
        switch hash {
        case .sha1: "SHA1"
        case .sha256: "SHA256"
        case .sha512: "SHA512"
        }
    }

    /// The code at `time`, in seconds since 1970. With a counter, `time` does not matter.
    ///
    /// - Throws: ``ExitCode/failure`` if this machine has no library with SHA-1.
    func code(at time: Int64) throws(CLIError) -> SecretValue {
        let moving =
            switch factor {
            case .time(let period): UInt64(max(0, time) / period)
            case .counter(let counter): counter
            }
        let message = (0..<8).map { UInt8(truncatingIfNeeded: moving >> (56 - 8 * $0)) }
        let digest = key.withBytes { hash.code(of: message.span, key: $0) }
        guard let digest else {
            throw CLIError(
                .failure, "this machine has no library with HMAC-SHA-1",
                hint: "install libssl3 or libgcrypt20")
        }
        return digest.withBytes { digest in
            // RFC 4226 §5.3: dynamic truncation.
            let offset = Int(digest[digest.count - 1] & 0xF)
            var number: UInt64 = 0
            for place in 0..<4 { number = number << 8 | UInt64(digest[offset + place]) }
            number &= 0x7FFF_FFFF
            var digits = SecretBytes(byteCount: digitCount)
            digits.withMutableBytes { digits in
                for place in (0..<digitCount).reversed() {
                    digits[place] = UInt8(ascii: "0") + UInt8(number % 10)
                    number /= 10
                }
            }
            return SecretValue(digits)
        }
    }

    /// The URI for a key and its parameters. `label` names the account.
    func uri(label: String) -> SecretValue {
        var text = SecretText()
        let type = if case .time = factor { "totp" } else { "hotp" }
        text.append("\(OTPAuthURI.scheme)\(type)/\(Self.percentEncoded(label))?secret=")
        Base32.append(key, to: &text)
        text.append("&algorithm=\(Self.word(hash))&digits=\(digitCount)")
        switch factor {
        case .time(let period): text.append("&period=\(period)")
        case .counter(let counter): text.append("&counter=\(counter)")
        }
        return text.value()
    }

    private static func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            let letter = Character(Unicode.Scalar(byte))
            let isPlain = byte < 0x80 && (letter.isLetter || letter.isNumber)
            return isPlain || "-._~".utf8.contains(byte)
                ? String(letter) : "%" + Hexadecimal.text([byte]).uppercased()
        }.joined()
    }

    /// The stored secret with another counter, everything else as it was.
    static func setting(
        counter: UInt64, in stored: SecretValue
    ) throws(CLIError) -> SecretValue {
        guard let line = OTPAuthURI.line(in: stored) else {
            throw .malformed("it is no otpauth:// URI")
        }
        let uri = try OTPAuthURI(stored.part(line)).setting("counter", to: "\(counter)")
        return stored.withBytes { bytes in
            var text = SecretText(capacity: bytes.count + 64)
            text.append(bytes.extracting(0..<line.lowerBound))
            uri.withBytes { text.append($0) }
            text.append(bytes.extracting(line.upperBound..<bytes.count))
            return text.value()
        }
    }
}

extension CLIError {
    /// The error for a secret that makes no one-time codes. The text itself is not shown.
    fileprivate static func malformed(_ reason: String, hint: String? = nil) -> CLIError {
        CLIError(
            .damaged, "the secret makes no one-time codes: \(reason)",
            hint: hint ?? "'valet otp add KEY' stores an otpauth:// URI, or a key in base32")
    }

    fileprivate static let steam = CLIError(
        .damaged, "the secret makes no one-time codes: it is for Steam, whose codes have letters",
        hint: "no standard describes them: use Steam's own app")
}

/// The parts of `otpauth://TYPE/LABEL?NAME=VALUE&…`. The label is not looked at: issuers write
/// there what they like.
private struct OTPAuthURI {
    static let scheme = "otpauth://"

    private let text: SecretValue
    /// The names in lower case, the byte ranges of the members, and those of their values.
    private var members: [(name: String, whole: Range<Int>, value: Range<Int>)] = []
    /// The end of the members: that of the text, or the beginning of the fragment.
    private let end: Int
    /// In small letters.
    let type: String

    /// Reads a text that begins with the scheme.
    init(_ text: SecretValue) {
        self.text = text
        var members: [(name: String, whole: Range<Int>, value: Range<Int>)] = []
        (type, end) = text.withBytes { bytes in
            let start = Self.scheme.utf8.count
            let typeEnd = bytes.first(from: start, of: "/?") ?? bytes.count
            var position = (bytes.first(from: typeEnd, of: "?") ?? bytes.count - 1) + 1
            let limit = bytes.first(from: position, of: "#") ?? bytes.count
            while position < limit {
                let stop = min(bytes.first(from: position, of: "&") ?? limit, limit)
                let sign = min(bytes.first(from: position, of: "=") ?? stop, stop)
                let name = bytes.extracting(position..<sign).text ?? ""
                members.append((name.lowercased(), position..<stop, min(sign + 1, stop)..<stop))
                position = stop + 1
            }
            return (bytes.extracting(start..<typeEnd).text?.lowercased() ?? "", limit)
        }
        self.members = members
    }

    /// Where the first line has a URI, which may follow a name and a colon, without white space at
    /// both ends; nil if no line has one.
    static func line(in text: SecretValue) -> Range<Int>? {
        text.withBytes { bytes in
            var start = TextMark.isAtStart(of: bytes) ? TextMark.byteOrderMark.count : 0
            while start < bytes.count {
                let end = bytes.first(from: start, of: "\n\r") ?? bytes.count
                if let found = uri(in: bytes, start..<end) { return found }
                start = end + 1
            }
            return nil
        }
    }

    private static func uri(in bytes: Span<UInt8>, _ line: Range<Int>) -> Range<Int>? {
        guard let first = line.first(where: { bytes[$0] > 0x20 }),
            let last = line.last(where: { bytes[$0] > 0x20 })
        else { return nil }
        var starts = [first]
        if let colon = bytes.first(from: first, of: ":"), colon < last {
            starts += (colon + 1...last).first { bytes[$0] > 0x20 }.map { [$0] } ?? []
        }
        return starts.first { start in
            bytes.extracting(start...last).begins(withLowercase: scheme)
        }.map { $0..<last + 1 }
    }

    private func member(
        _ name: String
    ) throws(CLIError) -> (whole: Range<Int>, value: Range<Int>)? {
        let found = members.filter { $0.name == name }
        guard found.count < 2 else { throw .malformed("'\(name)' is there twice") }
        return found.first.map { ($0.whole, $0.value) }
    }

    private func decoded(_ range: Range<Int>) -> SecretValue? { text.part(range).percentDecoded }

    /// The value of a member, percent-decoded.
    func value(_ name: String) throws(CLIError) -> SecretValue? {
        guard let member = try member(name) else { return nil }
        guard let value = decoded(member.value) else {
            throw .malformed("'\(name)' has a wrong percent sign")
        }
        return value
    }

    /// The value of a member that is not secret.
    func text(_ name: String) throws(CLIError) -> String? {
        guard let value = try value(name), value.byteCount > 0 else { return nil }
        guard let text = value.publicText else { throw .malformed("'\(name)' is not UTF-8") }
        return text
    }

    /// The values of the members with that name that are text, in lower case. No code depends on
    /// them, so they may be written badly.
    func words(_ name: String) -> [String] {
        members.filter { $0.name == name }
            .compactMap { decoded($0.value)?.publicText?.lowercased() }
    }

    /// The URI with the value `new` for the member `name`, which is added if it is missing.
    func setting(_ name: String, to new: String) throws(CLIError) -> SecretValue {
        let member = try member(name)
        return text.withBytes { bytes in
            var result = SecretText(capacity: bytes.count + 64)
            let place = member?.whole ?? end..<end
            result.append(bytes.extracting(0..<place.lowerBound))
            result.append((member == nil ? "&" : "") + "\(name)=\(new)")
            result.append(bytes.extracting(place.upperBound..<bytes.count))
            return result.value()
        }
    }
}

extension Span<UInt8> {
    /// The index of the first of `characters`, from `start` on.
    fileprivate func first(from start: Int, of characters: String) -> Int? {
        guard start < count else { return nil }
        return (start..<count).first { characters.utf8.contains(self[$0]) }
    }

    /// Whether it begins with `beginning`, which is in lower case, if case is ignored.
    fileprivate func begins(withLowercase beginning: String) -> Bool {
        count >= beginning.utf8.count
            && zip(indices, beginning.utf8).allSatisfy { index, letter in
                let isCapital = 0x41...0x5A ~= self[index]
                return self[index] + (isCapital ? 0x20 : 0) == letter
            }
    }
}

extension SecretValue {
    /// The value without white space at both ends.
    var trimmed: SecretValue {
        withBytes { bytes in
            guard let first = bytes.indices.first(where: { bytes[$0] > 0x20 }),
                let last = bytes.indices.last(where: { bytes[$0] > 0x20 })
            else { return SecretValue(SecretBytes(byteCount: 0)) }
            return SecretValue(copying: bytes.extracting(first...last))
        }
    }

    /// The bytes before the first line end.
    var firstLine: SecretValue {
        withBytes { bytes in
            let end = bytes.first(from: 0, of: "\r\n") ?? bytes.count
            return SecretValue(copying: bytes.extracting(0..<end))
        }
    }

    fileprivate func starts(with beginning: String) -> Bool {
        withBytes { $0.begins(withLowercase: beginning) }
    }

    fileprivate var hasColon: Bool { withBytes { $0.first(from: 0, of: ":") != nil } }
}

/// Base32 (RFC 4648 §6) as people and issuers write it: in any case, in groups, with padding or
/// without.
enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    /// The bytes; nil if the text is not base32, or encodes no bytes.
    static func decoded(_ text: SecretValue) -> SecretValue? {
        text.withBytes { text in
            var bytes = SecretText(capacity: text.count * 5 / 8 + 1)
            var (pending, bitCount, isPadded, byteCount) = (UInt32(0), 0, false, 0)
            for index in text.indices {
                switch text[index] {
                case UInt8(ascii: "="): isPadded = true
                case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: "-"), UInt8(ascii: "+"): break
                case let byte:
                    guard !isPadded, let value = value(of: byte) else { return nil }
                    pending = pending << 5 | UInt32(value)
                    bitCount += 5
                    guard bitCount >= 8 else { break }
                    bitCount -= 8
                    bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(bitCount)))
                    pending &= (1 << UInt32(bitCount)) - 1
                    byteCount += 1
                }
            }
            return byteCount > 0 ? bytes.value() : nil
        }
    }

    private static func value(of byte: UInt8) -> Int? {
        let capital = byte >= 0x61 && byte <= 0x7A ? byte - 0x20 : byte
        return alphabet.firstIndex(of: capital)
    }

    /// Appends the text for bytes, without padding.
    static func append(_ bytes: SecretValue, to text: inout SecretText) {
        bytes.withBytes { bytes in
            var (pending, bitCount) = (UInt32(0), 0)
            for index in bytes.indices {
                pending = pending << 8 | UInt32(bytes[index])
                bitCount += 8
                while bitCount >= 5 {
                    bitCount -= 5
                    text.append(alphabet[Int(pending >> UInt32(bitCount) & 31)])
                }
                pending &= (1 << UInt32(bitCount)) - 1
            }
            if bitCount > 0 { text.append(alphabet[Int(pending << UInt32(5 - bitCount) & 31)]) }
        }
    }
}
