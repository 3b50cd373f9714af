// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeybag
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetSealing
package import ValetSecretMemory
internal import ValetSystem

/// A passcode as it was typed, from 1 to 1,024 bytes; it lies in guarded memory, and is wiped
/// with its last owner.
package final class KeychainPasscode: Sendable {
    let passcode: Passcode
    /// Whether a TPM is to try it even if few tries are left.
    let isInsisting: Bool

    /// Takes over what was typed, without the end of the line.
    ///
    /// - Parameter insisting: Whether a TPM is to try it even if it takes few wrong tries more, and
    ///   then none for long.
    /// - Throws: ``KeychainFailure/Code/invalidRequest`` for no bytes or too many.
    package init(
        _ typed: consuming SecretBytes, insisting: Bool = false
    ) throws(KeychainFailure) {
        isInsisting = insisting
        do throws(KeybagError) {
            passcode = try Passcode(typed)
        } catch {
            throw KeychainFailure(
                .invalidRequest, during: "take the passcode", message: error.explanation)
        }
    }

    /// Whether it has fewer than eight characters: a thief of the disk soon guesses them.
    package var isShort: Bool { passcode.isShort }
}

/// Makes a process that tries passcodes of a keychain wait: longer each time, up to three seconds.
final class WrongPasscodes: Sendable {
    /// How many were wrong in a row.
    let count = Atomic<Int>(0)
    private static let first: Int64 = 100_000_000
    private static let longest: Int64 = 3_000_000_000

    /// Runs `body`; waits before a failure to authenticate is passed on.
    func counting<R: ~Copyable>(
        _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        do throws(KeychainFailure) {
            let result = try body()
            count.store(0, ordering: .relaxed)
            return result
        } catch {
            if error.code == .authenticationFailed { wait() }
            throw error
        }
    }

    /// How long a process waits after so many in a row, from 1 on, in nanoseconds.
    static func pause(after count: Int) -> Int64 {
        min(longest, first << Int64(min(count, 6) - 1))
    }

    private func wait() {
        let (_, attempts) = count.add(1, ordering: .relaxed)
        _ = Deadline.never.sleep(atMost: Self.pause(after: attempts))
    }
}
