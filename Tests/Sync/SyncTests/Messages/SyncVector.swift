// SPDX-License-Identifier: Apache-2.0

// How the vectors in Tests/Vectors/sync are read.

import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetSync

extension Vector {
    /// The vectors of one operation, which are at least one.
    static func sync(_ operation: String) throws -> [Vector] { try all("sync", operation) }

    /// The vector in the file `name`.
    static func sync(file name: String) throws -> Vector {
        guard let vector = try all("sync").first(where: { $0.description == name }) else {
            throw Mistake(text: name)
        }
        return vector
    }

    /// The identity vector of the device `b`, which writes all messages.
    static var author: Vector { get throws { try sync(file: "identity-b.txt") } }

    func id<Name>(
        _ field: String, as kind: SyncBytes<Name>.Type = SyncBytes<Name>.self
    ) throws -> SyncBytes<Name> {
        try SyncBytes(bytes(field))
    }

    func hash(_ field: String) throws -> SyncHash {
        var reader = ByteReader(try bytes(field), malformed: Mistake(text: field))
        return try SyncHash(from: &reader)
    }

    func key<P>(_ field: String, as purpose: P.Type = P.self) throws -> SymmetricKey<P> {
        let bytes = try bytes(field)
        return try SymmetricKey(copying: bytes.span)
    }

    var scope: KeyScope {
        get throws { try text("scope") == "f" ? .afterFirstUnlock : .whileUnlocked }
    }

    var random: HedgeBytes { get throws { try HedgeBytes(bytes("random")) } }

    func identity(_ scope: KeyScope) throws -> ScopeIdentity {
        let secret = try key(
            scope == .afterFirstUnlock ? "secret_f" : "secret_u", as: Purpose.SyncSecret.self)
        return ScopeIdentity(secret, scope, circle: try id("circle"))
    }

    /// The member of an identity vector.
    var member: Member {
        get throws {
            let kind: UInt8 = try number("kind")
            let f = try identity(.afterFirstUnlock)
            let u = try identity(.whileUnlocked)
            return Member(kind == 1 ? .device : .recovery, f, u)
        }
    }

    /// Runs `body`, which must do what the file says.
    func check(_ body: () throws -> Void) throws {
        try check({ (error: SyncError) in error.outcome }, body)
    }
}

extension SyncError {
    fileprivate var outcome: Vector.Outcome {
        switch code {
        case .malformed: .malformed
        case .newer: .unsupported
        case .tampered: .tampered
        case .invalid: .invalid
        case .wrongKey: .wrongSecret
        }
    }
}

extension SyncBytes {
    /// The id with these 16 bytes.
    init(_ bytes: [UInt8]) throws {
        var reader = ByteReader(bytes, malformed: Vector.Mistake(text: "16 bytes"))
        try self.init(from: &reader)
    }
}

extension SecretValue {
    /// A copy, to compare with.
    var array: [UInt8] { withBytes { bytes in bytes.indices.map { bytes[$0] } } }
}

extension SecretBytes {
    /// A copy, to compare with.
    var array: [UInt8] { withBytes { bytes in bytes.indices.map { bytes[$0] } } }
}

extension SymmetricKey {
    /// A copy, to compare with.
    var array: [UInt8] { withBytes { bytes in bytes.indices.map { bytes[$0] } } }
}

extension SyncRecord {
    /// The bytes of the record.
    var bytes: [UInt8] {
        var writer = SecretWriter(byteCount: byteCount)
        write(to: &writer)
        return writer.finish().array
    }
}

extension MessageHeader {
    /// Where the message is in a store.
    var place: StorePlace { .log(LogPlace(circle, device, scope, name.log)) }
}
