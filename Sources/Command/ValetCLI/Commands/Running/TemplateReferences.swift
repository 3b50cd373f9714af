// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// The references in a template: `{{ valet:… }}`, also with quotes around the reference, and with
/// `{{-` and `-}}`, which drop the blanks and line ends beside them. Braces around other text are
/// text.
struct TemplateReferences {
    /// A reference, and the position of its braces.
    struct Reference: Hashable {
        let text: String
        let position: Int
    }

    /// The ranges of the text around the references: one more than references.
    private(set) var texts: [Range<Int>] = []
    private(set) var references: [Reference] = []
    /// The position of a reference that has no end on its line, or is not UTF-8.
    private(set) var flaw: Int?
    /// The positions of text that a person may have meant as a reference.
    private(set) var suspects: [Int] = []

    init(_ bytes: Span<UInt8>) {
        var (start, position) = (0, 0)
        while position < bytes.count {
            guard Self.isPair("{", bytes, position) else {
                let isBare =
                    SecretReference.hasScheme(bytes, at: position)
                    && Self.isPair("/", bytes, position + SecretReference.scheme.utf8.count)
                if isBare { suspects.append(position) }
                position += 1
                continue
            }
            guard let opening = Opening(bytes, position) else {
                if Self.mentionsReference(bytes, position) { suspects.append(position) }
                position += 1
                continue
            }
            guard let (reference, end, trims) = opening.reference(bytes) else {
                flaw = position
                return
            }
            var last = position
            while opening.trims, last > start, Self.isSpace(bytes[last - 1]) { last -= 1 }
            texts.append(start..<last)
            references.append(Reference(text: reference, position: position))
            (start, position) = (end, end)
            while trims, start < bytes.count, Self.isSpace(bytes[start]) { start += 1 }
            position = start
        }
        texts.append(start..<bytes.count)
    }

    /// The line and the column of a position, both from 1, in words for messages.
    static func place(of offset: Int, in bytes: Span<UInt8>) -> String {
        var (line, column) = (1, 1)
        for index in 0..<offset {
            if bytes[index] == UInt8(ascii: "\n") {
                (line, column) = (line + 1, 1)
            } else if bytes[index] & 0xC0 != 0x80 {
                // The first byte of a character in UTF-8.
                column += 1
            }
        }
        return "line \(line), column \(column)"
    }

    /// Whether braces that are not a reference contain one: `{{ secret "valet:key" }}`. Braces
    /// inside them are judged separately.
    private static func mentionsReference(_ bytes: Span<UInt8>, _ start: Int) -> Bool {
        var (position, mentions) = (start + 2, false)
        while position < bytes.count, bytes[position] != UInt8(ascii: "\n") {
            if isPair("{", bytes, position) { return false }
            if isPair("}", bytes, position) { return mentions }
            mentions = mentions || SecretReference.hasScheme(bytes, at: position)
            position += 1
        }
        return false
    }

    fileprivate static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }

    fileprivate static func isPair(
        _ character: Unicode.Scalar, _ bytes: Span<UInt8>, _ position: Int
    ) -> Bool {
        position + 1 < bytes.count && bytes[position] == UInt8(ascii: character)
            && bytes[position + 1] == UInt8(ascii: character)
    }
}

/// The beginning of a reference in braces.
private struct Opening {
    /// Whether blanks before it are dropped.
    let trims: Bool
    private let start: Int
    /// The quote around the reference; nil without one.
    private let quote: UInt8?

    /// nil if no reference begins at `position`.
    init?(_ bytes: Span<UInt8>, _ position: Int) {
        var next = position + 2
        let isDash = next < bytes.count && bytes[next] == UInt8(ascii: "-")
        if isDash { next += 1 }
        while next < bytes.count, TemplateReferences.isBlank(bytes[next]) { next += 1 }
        guard next < bytes.count else { return nil }
        let isQuoted = "\"'`".utf8.contains(bytes[next])
        quote = isQuoted ? bytes[next] : nil
        if isQuoted { next += 1 }
        guard SecretReference.hasScheme(bytes, at: next) else { return nil }
        (trims, start) = (isDash, next)
    }

    /// The reference, the position after its braces, and whether blanks after it are dropped; nil
    /// if it is not UTF-8, does not end on its line, or begins with a quote that is not closed.
    func reference(_ bytes: Span<UInt8>) -> (text: String, end: Int, trims: Bool)? {
        var end = start
        while end < bytes.count, bytes[end] != UInt8(ascii: "\n"),
            !TemplateReferences.isPair("}", bytes, end)
        {
            end += 1
        }
        guard TemplateReferences.isPair("}", bytes, end) else { return nil }
        var last = end
        let isDash =
            last - 2 >= start && bytes[last - 1] == UInt8(ascii: "-")
            && TemplateReferences.isBlank(bytes[last - 2])
        if isDash { last -= 1 }
        while last > start, TemplateReferences.isBlank(bytes[last - 1]) { last -= 1 }
        if let quote {
            guard last > start, bytes[last - 1] == quote else { return nil }
            last -= 1
        }
        guard let text = String(utf8: (start..<last).map { bytes[$0] }) else { return nil }
        return (text, end + 2, isDash)
    }
}
