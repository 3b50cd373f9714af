// SPDX-License-Identifier: Apache-2.0

/// Why secrets in memory are protected less than they should be: ``SecretArena/failure`` records
/// it, and no call fails because of it.
package struct MemoryWeakness: Equatable, Sendable {
    /// What failed.
    package enum Code: Equatable, Sendable {
        /// No guarded memory could be mapped: secrets are in ordinary memory, wiped on release.
        case notGuarded
        /// There were more secrets than guarded memory: some were in ordinary memory, wiped on
        /// release. Hold fewer values.
        case full
        /// The guarded memory could not be locked: raise `RLIMIT_MEMLOCK`, or turn swap off.
        case notLocked
    }

    package enum Operation: Equatable, Sendable {
        case makeArena
        /// The arena was being locked, at first use or again in a child process.
        case lockArena
        /// A secret of up to 4 KiB was being allocated.
        case allocate
    }

    package let code: Code
    package let operation: Operation
    package let byteCount: Int
    package let errorNumber: Int32
}

extension MemoryWeakness: CustomStringConvertible {
    /// The operation and its cause, in lower case and without a full stop.
    package var description: String {
        switch code {
        case .notGuarded: "making \(byteCount) bytes of guarded memory failed: errno \(errorNumber)"
        case .full: "there was no guarded memory left for \(byteCount) bytes"
        case .notLocked: "locking \(byteCount) bytes of memory failed: errno \(errorNumber)"
        }
    }
}
