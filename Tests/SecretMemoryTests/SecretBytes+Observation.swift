// SPDX-License-Identifier: Apache-2.0

@testable import ValetSecretMemory

extension SecretBytes {
    /// A copy, to compare with.
    var array: [UInt8] {
        withBytes { bytes in bytes.indices.map { bytes[$0] } }
    }

    /// Where the bytes lie.
    var address: Int { Int(bitPattern: unsafe start) }

    /// True if the bytes lie in the guarded arena.
    var isInArena: Bool { SecretArena.shared.contains(address) }
}

/// What lies at an address of the arena, for any owner: the arena is never unmapped.
func peek(_ address: Int, count: Int) -> [UInt8] {
    precondition(SecretArena.shared.contains(address), "not in the arena")
    return (0..<count).map { index in
        unsafe UnsafePointer<UInt8>(bitPattern: address + index)?.pointee ?? 0xFF
    }
}
