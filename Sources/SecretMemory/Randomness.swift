// SPDX-License-Identifier: Apache-2.0

internal import ValetCSodium

/// Random bytes of libsodium, which asks the kernel: fit for keys, and different after a fork.
package enum Randomness {
    /// Makes `count` random bytes that are not secret: ids, salts, nonces. For secrets there is
    /// ``SecretBytes/init(randomByteCount:)``.
    package static func bytes(_ count: Int) -> [UInt8] {
        Libsodium.start()
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            if let start = buffer.baseAddress { unsafe randombytes_buf(start, count) }
            initialized = count
        }
    }

    /// Overwrites all of `bytes` with random ones.
    package static func fill(_ bytes: inout MutableSpan<UInt8>) {
        Libsodium.start()
        unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return }
            unsafe randombytes_buf(start, buffer.count)
        }
    }
}
