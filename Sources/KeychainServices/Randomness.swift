// SPDX-License-Identifier: Apache-2.0

/// Stand-in until SecretMemory has it.
enum Randomness {
    static func fill(_ bytes: inout MutableSpan<UInt8>) {
        for index in bytes.indices { bytes[index] = .random(in: .min ... .max) }
    }
}
