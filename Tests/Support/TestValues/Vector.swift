// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// One file of Tests/Vectors: a header (`source`, `expect`, `operation`), an empty line, and
/// fields `name: value`, where a name may stand more than once.
package struct Vector: Sendable, CustomStringConvertible {
    /// A file that is not what a vector is.
    package struct Mistake: Error {
        /// Which, and what is wrong with it.
        package let text: String

        /// Says what is wrong.
        package init(text: String) { self.text = text }
    }

    /// What the file says should happen.
    package enum Outcome: String, Sendable {
        case success, malformed, unsupported, tampered, invalid
        case wrongSecret = "wrong secret"
        case wrongPasscode = "wrong passcode"
        case wrongRecoveryKey = "wrong recovery key"
        case noRecoveryKey = "no recovery key"
        case needsProtector = "needs protector"
    }

    /// The name of the file.
    package let description: String
    /// What should happen.
    package let outcome: Outcome
    private let fields: [String: [String]]

    /// All vectors of one folder of Tests/Vectors, which are at least one.
    package static func all(_ folder: String) throws -> [Vector] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Vectors/\(folder)").standardizedFileURL
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".txt") }.sorted()
        guard !files.isEmpty else { throw Mistake(text: "no vectors in \(folder.path)") }
        return try files.map { name in
            let file = folder.appendingPathComponent(name)
            return try Vector(name: name, text: String(contentsOf: file, encoding: .utf8))
        }
    }

    private init(name: String, text: String) throws {
        description = name
        var fields: [String: [String]] = [:]
        for line in text.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else {
                throw Mistake(text: "\(name): \(line)")
            }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            fields[String(line[..<colon]), default: []].append(String(value))
        }
        guard fields["source"] != nil,
            let outcome = fields["expect"]?.first.flatMap(Outcome.init(rawValue:))
        else { throw Mistake(text: "\(name): no source or outcome") }
        self.outcome = outcome
        self.fields = fields
    }

    /// All vectors of one folder for one operation, which are at least one.
    package static func all(_ folder: String, _ operation: String) throws -> [Vector] {
        let vectors = try all(folder).filter { try $0.text("operation") == operation }
        guard !vectors.isEmpty else { throw Mistake(text: "no vectors of \(operation)") }
        return vectors
    }

    /// Runs `body`, which must do what the file says: end well, or throw an error of that meaning.
    ///
    /// - Parameter meaning: What an error says; nil for one that no vector speaks of.
    /// - Throws: ``Mistake`` if it did something else; errors of another type than `E`.
    package func check<E: Error>(
        _ meaning: (E) -> Outcome?, _ body: () throws -> Void
    ) throws {
        do {
            try body()
        } catch let error as E {
            guard meaning(error) == outcome else {
                throw Mistake(text: "\(description): \(error)")
            }
            return
        }
        guard outcome == .success else { throw Mistake(text: "\(description): was taken") }
    }

    /// Whether the field is there.
    package func has(_ field: String) -> Bool { fields[field] != nil }

    /// The one value of a field.
    package func text(_ field: String) throws -> String {
        guard let values = fields[field], values.count == 1 else {
            throw Mistake(text: "\(description): \(field)")
        }
        return values[0]
    }

    /// The one value of a field, in decimal digits.
    package func number<N: FixedWidthInteger>(_ field: String) throws -> N {
        guard let number = N(try text(field)) else {
            throw Mistake(text: "\(description): \(field)")
        }
        return number
    }

    /// The one value of a field, in hexadecimal digits.
    package func bytes(_ field: String) throws -> [UInt8] {
        try Self.bytes(hexadecimal: text(field))
    }

    /// The one value of a field that is too long for hexadecimal digits, in base 64.
    package func bytes(base64 field: String) throws -> [UInt8] {
        guard let data = Data(base64Encoded: try text(field)) else {
            throw Mistake(text: "\(description): \(field)")
        }
        return [UInt8](data)
    }

    /// All values of a field that may stand any number of times, as they are written.
    package func texts(_ field: String) -> [String] { fields[field] ?? [] }

    /// All values of a field that may stand any number of times, in hexadecimal digits.
    package func list(_ field: String) throws -> [[UInt8]] {
        try texts(field).map(Self.bytes(hexadecimal:))
    }

    private static func bytes(hexadecimal text: String) throws -> [UInt8] {
        let digits = Array(text)
        guard digits.count.isMultiple(of: 2) else { throw Mistake(text: text) }
        return try stride(from: 0, to: digits.count, by: 2).map { index in
            guard let byte = UInt8(String(digits[index...(index + 1)]), radix: 16) else {
                throw Mistake(text: text)
            }
            return byte
        }
    }
}
