// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// How a passcode or a password is stretched: the body of record 0x0110 (docs/FORMAT.md §4.2), 25
/// bytes.
package struct Argon2Record: Hashable, Sendable {
    /// The number of bytes.
    package static let byteCount = 25

    /// What makes equal passcodes differ.
    package let salt: Salt
    /// What one guess costs.
    package let cost: Argon2Cost

    /// A record of its two parts.
    package init(salt: Salt, cost: Argon2Cost) {
        self.salt = salt
        self.cost = cost
    }

    /// Parses a record.
    ///
    /// - Throws: ``KeybagError/Code/malformed`` for another length, a cost out of bounds (which
    ///   could stop the machine, or make guessing cheap), more than one lane.
    package init(parsing body: [UInt8]) throws(KeybagError) {
        var reader = ByteReader(body, malformed: KeybagError.malformedKeybag)
        salt = try reader.fixedBytes()
        let (memoryKiB, passes): (UInt32, UInt32) = (try reader.integer(), try reader.integer())
        do throws(SealingError) {
            cost = try Argon2Cost(memoryKiB: memoryKiB, passes: passes)
        } catch {
            throw KeybagError(error, during: "read the keybag")
        }
        guard try reader.integer(UInt8.self) == 1, reader.isAtEnd else { throw .malformedKeybag }
    }

    /// The 25 bytes.
    package var bytes: [UInt8] {
        var bytes = salt.bytes
        bytes.append(bigEndian: cost.memoryKiB)
        bytes.append(bigEndian: cost.passes)
        bytes.append(1)
        return bytes
    }
}
