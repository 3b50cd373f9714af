// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// Which platform configuration registers, all of the SHA-256 bank, an object is bound to.
package struct PCRSelection: Hashable, Sendable {
    /// Bit n is register n, of 24.
    let bits: UInt32

    /// No register: the object is not bound to how the machine was started.
    package static var none: PCRSelection { PCRSelection(bits: 0) }

    private init(bits: UInt32) { self.bits = bits }

    /// The registers of those numbers; nil if there is one beyond 23.
    package init?(_ numbers: [Int]) {
        guard numbers.allSatisfy({ (0..<24).contains($0) }) else { return nil }
        bits = numbers.reduce(0) { $0 | 1 << UInt32($1) }
    }

    /// What a person wrote, as in "7" or "0,7"; nil for anything else.
    package init?(text: String) {
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        guard !numbers.contains(nil) else { return nil }
        self.init(numbers.compactMap { $0 })
    }

    /// Whether no register is selected.
    package var isEmpty: Bool { bits == 0 }

    /// The numbers, rising.
    package var numbers: [Int] { (0..<24).filter { bits >> UInt32($0) & 1 == 1 } }

    /// Nothing, or a TPML_PCR_SELECTION with one bank, 10 bytes: docs/FORMAT.md §4.2.
    var bytes: [UInt8] {
        guard !isEmpty else { return [] }
        return Self.prefix + (0..<3).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
    }

    /// One bank, SHA-256, three bytes of bits.
    private static let prefix: [UInt8] = [0, 0, 0, 1, 0, 0x0b, 3]

    /// - Throws: ``TPMError/Code/malformed`` for any other bytes than ``bytes`` gives.
    init(parsing bytes: [UInt8], malformed: TPMError) throws(TPMError) {
        guard !bytes.isEmpty else {
            bits = 0
            return
        }
        guard bytes.count == 10, bytes.starts(with: Self.prefix) else { throw malformed }
        bits = (0..<3).reduce(0) { $0 | UInt32(bytes[7 + $1]) << UInt32(8 * $1) }
        guard bits != 0 else { throw malformed }
    }
}
