// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Keybag

/// One file of Tests/Vectors: a header (`source`, `expect`, `operation`), an empty line, and
/// fields `name: value`, where a name may stand more than once.
struct Vector: Sendable, CustomTestStringConvertible {
    struct Mistake: Error { let text: String }

    let testDescription: String
    /// What should happen: `success`, or what ``KeybagError/Code/outcome`` says.
    let outcome: String
    private let fields: [String: [String]]

    /// All vectors of one folder, which are at least one.
    static func all(_ folder: String) throws -> [Vector] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Vectors/\(folder)").standardizedFileURL
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".txt") }.sorted()
        guard !files.isEmpty else { throw Mistake(text: "no vectors in \(folder.path)") }
        return try files.map { name in
            let file = folder.appendingPathComponent(name)
            return try Vector(name: name, text: String(contentsOf: file, encoding: .utf8))
        }
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
        guard fields["source"] != nil, let outcome = fields["expect"]?.first else {
            throw Mistake(text: "\(name): no source or outcome")
        }
        self.outcome = outcome
        self.fields = fields
    }

    func has(_ field: String) -> Bool { fields[field] != nil }

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

    /// All values of a field that may stand any number of times, as they are.
    func texts(_ field: String) -> [String] { fields[field] ?? [] }

    func bytes(_ field: String) throws -> [UInt8] { try Self.bytes(hexadecimal: text(field)) }

    /// All values of a field that may stand any number of times.
    func list(_ field: String) throws -> [[UInt8]] {
        try texts(field).map(Self.bytes(hexadecimal:))
    }

    /// Runs `body`, which must do what the file says: end well, or throw that very code.
    func check(
        _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) throws {
        do {
            try body()
            #expect(outcome == "success", sourceLocation: location)
        } catch let error as KeybagError {
            #expect(error.code.outcome == outcome, "\(error)", sourceLocation: location)
        }
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

extension KeybagError.Code {
    fileprivate var outcome: String? {
        switch self {
        case .malformed, .mistypedRecoveryKey: "malformed"
        case .newer: "unsupported"
        case .tampered: "tampered"
        case .wrongDeviceSecret: "wrong secret"
        case .wrongPasscode: "wrong passcode"
        case .wrongRecoveryKey: "wrong recovery key"
        case .noRecoveryKey: "no recovery key"
        case .needsProtector: "needs protector"
        case .emptyPasscode, .passcodeTooLong, .outOfMemory, .classUnavailable: nil
        }
    }
}
