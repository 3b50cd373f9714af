// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing
internal import ValetSystem

/// An XML property list, reduced to the values that can name an application.
///
/// ``Entitlements`` and ``BundleInformation`` read it. Foundation has a reader, too, but a program
/// that links Foundation takes twice as long to start, and its decoders recurse without a bound.
/// This one refuses everything that is not exactly a list in UTF-8.
enum PropertyList: Hashable, Sendable {
    case text(String)
    case array([PropertyList])
    case dictionary([String: PropertyList])
    /// A Boolean, a number, a date or data. None of these can name an application, so this
    /// ignores their contents.
    case other

    static let depthLimit = 32
    static let valueLimit = 16384

    /// Reads all of `bytes`, within the limits above.
    ///
    /// - Throws: ``SystemError``: `malformed`; `unsupported` for a binary list, which no program
    ///   needs on Linux; `tooLarge` for one that is nested too deep or has too many values.
    init(_ bytes: [UInt8]) throws(SystemError) {
        self = try Self.withPlaces(bytes).list
    }

    /// Reads all of `bytes`. Also returns where in them the entries of the root dictionary are.
    static func withPlaces(
        _ bytes: [UInt8]
    ) throws(SystemError) -> (list: PropertyList, places: Places) {
        guard !bytes.starts(with: "bplist".utf8) else { throw .propertyList(.unsupported) }
        var reader = XMLPropertyList(bytes)
        return (try reader.document(), reader.places)
    }

    /// Where the parts of a dictionary are.
    struct Places: Hashable {
        /// The range of each key's value, with the value's tags.
        var values: [String: Range<Int>] = [:]
        /// The start of the tag that closes the dictionary; nil for `<dict/>`.
        var end: Int?
    }
}

extension SystemError {
    static func propertyList(_ code: Code) -> SystemError {
        SystemError(code, during: "read a property list")
    }
}

/// Parses an XML property list: the elements of Apple's document type, comments, CDATA and
/// character references. Refuses everything else of XML.
private struct XMLPropertyList {
    private let bytes: [UInt8]
    private var position = 0
    private var valueCount = 0
    private(set) var places = PropertyList.Places()

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func document() throws(SystemError) -> PropertyList {
        _ = take("\u{FEFF}")
        try skipProlog()
        let list: PropertyList
        if take("<plist") {
            try skip(past: ">")
            list = try value(depth: 0)
            try skipSpace()
            try close("plist")
        } else {
            list = try value(depth: 0)
        }
        try skipSpace()
        guard position == bytes.count else { throw .propertyList(.malformed) }
        return list
    }

    private mutating func value(depth: Int) throws(SystemError) -> PropertyList {
        try skipSpace()
        let (name, isEmpty) = try open()
        valueCount += 1
        guard depth < PropertyList.depthLimit, valueCount <= PropertyList.valueLimit else {
            throw .propertyList(.tooLarge)
        }
        switch name {
        case "dict": return .dictionary(isEmpty ? [:] : try dictionary(depth: depth))
        case "array": return .array(isEmpty ? [] : try array(depth: depth))
        case "string": return .text(isEmpty ? "" : try text(of: name))
        case "true", "false", "integer", "real", "date", "data":
            if !isEmpty { _ = try text(of: name) }
            return .other
        default: throw .propertyList(.malformed)
        }
    }

    private mutating func array(depth: Int) throws(SystemError) -> [PropertyList] {
        var values: [PropertyList] = []
        try skipSpace()
        while !at("</") {
            values.append(try value(depth: depth + 1))
            try skipSpace()
        }
        try close("array")
        return values
    }

    private mutating func dictionary(
        depth: Int
    ) throws(SystemError) -> [String: PropertyList] {
        var values: [String: PropertyList] = [:]
        try skipSpace()
        while !at("</") {
            let (name, isEmpty) = try open()
            guard name == "key" else { throw .propertyList(.malformed) }
            let key = isEmpty ? "" : try text(of: name)
            try skipSpace()
            let start = position
            let value = try value(depth: depth + 1)
            if depth == 0 { places.values[key] = start..<position }
            // Readers disagree about which of two equal keys counts.
            guard values.updateValue(value, forKey: key) == nil else {
                throw .propertyList(.malformed)
            }
            try skipSpace()
        }
        if depth == 0 { places.end = position }
        try close("dict")
        return values
    }

    private mutating func text(of element: String) throws(SystemError) -> String {
        var text: [UInt8] = []
        while position < bytes.count {
            if take("<![CDATA[") {
                let start = position
                try skip(past: "]]>")
                text += bytes[start..<(position - 3)]
            } else if take("<!--") {
                try skip(past: "-->")
            } else if at("<") {
                break
            } else if take("&") {
                text += Array(String(try reference()).utf8)
            } else {
                text.append(bytes[position])
                position += 1
            }
        }
        try close(element)
        guard let string = String(validating: text, as: UTF8.self),
            string.unicodeScalars.allSatisfy(Self.isAllowed)
        else { throw .propertyList(.malformed) }
        return string
    }

    /// Reads the rest of a character or entity reference, from the name behind `&` through `;`.
    private mutating func reference() throws(SystemError) -> Unicode.Scalar {
        let start = position
        try skip(past: ";")
        let name = String(decoding: bytes[start..<(position - 1)], as: UTF8.self)
        switch name {
        case "lt": return "<"
        case "gt": return ">"
        case "amp": return "&"
        case "apos": return "'"
        case "quot": return "\""
        default:
            let (digits, radix) =
                name.hasPrefix("#x") ? (name.dropFirst(2), 16) : (name.dropFirst(), 10)
            // `UInt32` would also accept a sign.
            guard name.hasPrefix("#"), digits.allSatisfy(\.isHexDigit),
                let scalar = UInt32(digits, radix: radix).flatMap(Unicode.Scalar.init)
            else { throw .propertyList(.malformed) }
            return scalar
        }
    }

    /// Below U+0020, XML allows only these three characters.
    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x20 || ["\t", "\n", "\r"].contains(scalar)
    }

    /// Takes a start tag. Elements of property lists have no attributes.
    private mutating func open() throws(SystemError) -> (name: String, isEmpty: Bool) {
        guard take("<") else { throw .propertyList(.malformed) }
        let start = position
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        while position < bytes.count, letters.contains(bytes[position]) { position += 1 }
        let name = String(decoding: bytes[start..<position], as: UTF8.self)
        skipBlanks()
        let isEmpty = take("/")
        guard take(">") else { throw .propertyList(.malformed) }
        return (name, isEmpty)
    }

    private mutating func close(_ name: String) throws(SystemError) {
        guard take("</"), take(name) else { throw .propertyList(.malformed) }
        skipBlanks()
        guard take(">") else { throw .propertyList(.malformed) }
    }

    /// Skips everything that may precede the first element.
    private mutating func skipProlog() throws(SystemError) {
        try skipSpace()
        if take("<?xml") {
            let start = position
            try skip(past: "?>")
            let declaration = String(decoding: bytes[start..<position], as: UTF8.self).lowercased()
            guard !declaration.hasPart("encoding") || declaration.hasPart("utf-8") else {
                throw .propertyList(.malformed)
            }
        }
        try skipSpace()
        if take("<!DOCTYPE") {
            let start = position
            try skip(past: ">")
            // An internal subset, in brackets, could define entities.
            guard !bytes[start..<position].contains(UInt8(ascii: "[")) else {
                throw .propertyList(.malformed)
            }
        }
        try skipSpace()
    }

    private mutating func skipSpace() throws(SystemError) {
        skipBlanks()
        while take("<!--") {
            try skip(past: "-->")
            skipBlanks()
        }
    }

    private mutating func skipBlanks() {
        while position < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[position]) {
            position += 1
        }
    }

    private mutating func skip(past text: String) throws(SystemError) {
        while !take(text) {
            guard position < bytes.count else { throw .propertyList(.malformed) }
            position += 1
        }
    }

    private func at(_ text: String) -> Bool {
        bytes[position...].starts(with: text.utf8)
    }

    private mutating func take(_ text: String) -> Bool {
        guard at(text) else { return false }
        position += text.utf8.count
        return true
    }
}
