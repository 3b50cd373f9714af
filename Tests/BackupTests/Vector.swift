// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Backup

/// One file of Tests/Vectors: a header (`source`, `expect`, `operation`), an empty line, and
/// fields `name: value`, where a name may stand more than once.
struct Vector: Sendable, CustomTestStringConvertible {
    struct Mistake: Error { let text: String }

    /// What the file says should happen.
    enum Outcome: String, Sendable {
        case success, malformed, unsupported, tampered
        case wrongSecret = "wrong secret"
    }

    let testDescription: String
    let outcome: Outcome
    private let fields: [String: [String]]

    /// All vectors of one operation, which are at least one.
    static func all(_ operation: String) throws -> [Vector] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Vectors/backup").standardizedFileURL
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".txt") }.sorted()
        let vectors = try files.map { name in
            let file = folder.appendingPathComponent(name)
            return try Vector(name: name, text: String(contentsOf: file, encoding: .utf8))
        }.filter { try $0.text("operation") == operation }
        guard !vectors.isEmpty else { throw Mistake(text: "no vectors of \(operation)") }
        return vectors
    }

    private init(name: String, text: String) throws {
        testDescription = name
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

    func text(_ field: String) throws -> String {
        guard let values = fields[field], values.count == 1 else {
            throw Mistake(text: "\(testDescription): \(field)")
        }
        return values[0]
    }

    func number<N: FixedWidthInteger>(_ field: String) throws -> N {
        guard let number = N(try text(field)) else {
            throw Mistake(text: "\(testDescription): \(field)")
        }
        return number
    }

    func bytes(_ field: String) throws -> [UInt8] { try Self.bytes(hexadecimal: text(field)) }

    /// A field that is too long for hexadecimal digits.
    func bytes(base64 field: String) throws -> [UInt8] {
        guard let data = Data(base64Encoded: try text(field)) else {
            throw Mistake(text: "\(testDescription): \(field)")
        }
        return [UInt8](data)
    }

    /// Runs `body`, which must do what the file says: end well, or throw such a code.
    func check(
        _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) throws {
        do {
            try body()
            #expect(outcome == .success, sourceLocation: location)
        } catch let error as BackupError {
            #expect(error.outcome == outcome, "\(error)", sourceLocation: location)
        }
    }

    /// All values of a field that may stand any number of times.
    func list(_ field: String) throws -> [[UInt8]] {
        try (fields[field] ?? []).map(Self.bytes(hexadecimal:))
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

extension BackupError {
    fileprivate var outcome: Vector.Outcome? {
        switch code {
        case .wrongPassphrase: .wrongSecret
        case .damaged: .tampered
        case .notABackup, .truncated: .malformed
        case .newer: .unsupported
        default: nil
        }
    }
}
