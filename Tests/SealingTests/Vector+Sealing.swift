// SPDX-License-Identifier: Apache-2.0

import TestValues
import Testing

@testable import Sealing

extension Vector {
    /// All vectors of one operation of this module, which are at least one.
    static func sealing(_ operation: String) throws -> [Vector] {
        let vectors = try all("sealing").filter { try $0.text("operation") == operation }
        guard !vectors.isEmpty else { throw Mistake(text: "no vectors of \(operation)") }
        return vectors
    }

    func key<P>(_ field: String, as purpose: P.Type = P.self) throws -> SymmetricKey<P> {
        let bytes = try bytes(field)
        return try SymmetricKey(copying: bytes.span)
    }

    /// Runs `body`, which must do what the file says: end well, or throw that very code.
    func check(
        _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) throws {
        do {
            try body()
            #expect(outcome == .success, sourceLocation: location)
        } catch let error as SealingError {
            #expect(error.outcome == outcome, "\(error)", sourceLocation: location)
        }
    }
}

extension SealingError {
    fileprivate var outcome: Vector.Outcome? {
        switch code {
        case .wrongKey: .wrongSecret
        case .tampered: .tampered
        case .malformed: .malformed
        case .unsupported: .unsupported
        case .outOfMemory: nil
        }
    }
}
