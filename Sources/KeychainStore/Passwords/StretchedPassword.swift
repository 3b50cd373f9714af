// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
package import ValetKeychainModel
internal import ValetSealing
package import ValetSecretMemory

/// An application's password, stretched with one salt at one cost: docs/FORMAT.md §5.5. Wiped with
/// its last owner.
///
/// Making one takes the memory and the time of Argon2id: never do so in a transaction or under the
/// lock of writers.
package final class StretchedPassword: Sendable {
    /// The most bytes of a password; the least is one.
    package static let maximalByteCount = Passcode.maximalByteCount

    let argon2: Argon2Record
    private let key: StretchedPasscode

    private init(
        _ typed: borrowing SecretBytes, _ argon2: Argon2Record
    ) throws(KeychainFailure) {
        let operation = "take the password"
        guard (1...Self.maximalByteCount).contains(typed.byteCount) else {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "a password has from 1 to \(Self.maximalByteCount) bytes")
        }
        self.argon2 = argon2
        do throws(SealingError) {
            key = try PassphraseKDF.stretch(typed, salt: argon2.salt, cost: argon2.cost)
        } catch {
            throw KeychainFailure(.outOfMemory, during: operation)
        }
    }

    /// Stretches a password that is to open a box, whose salt and cost `lock` has.
    ///
    /// - Throws: ``KeychainFailure``: `invalidRequest` for no bytes or too many, `outOfMemory`.
    package convenience init(
        _ typed: borrowing SecretBytes, for lock: PasswordLock
    ) throws(KeychainFailure) {
        try self.init(typed, lock.argon2)
    }

    /// Stretches a new password, with a new salt.
    ///
    /// - Throws: As the other initialiser.
    package convenience init(
        new typed: borrowing SecretBytes, _ stretching: PasscodeStretching
    ) throws(KeychainFailure) {
        let cost: Argon2Cost
        do throws(SealingError) {
            cost = try stretching.cost()
        } catch {
            throw KeychainFailure(.outOfMemory, during: "take the password")
        }
        try self.init(typed, Argon2Record(salt: .random(), cost: cost))
    }

    /// Whether this password, stretched as the lock says, opens the lock's box.
    package func opens(_ lock: PasswordLock) -> Bool {
        argon2 == lock.argon2 && key(of: lock.item).commitment == lock.commitment
    }

    /// The key of the value of one item.
    func key(of item: BoxedItem) -> ApplicationPasswordKey {
        KeyedHash.derive(from: key, .applicationPassword) { hash in
            hash.append(item.keychainID)
            hash.append(item.itemID)
        }
    }
}

/// The item that a box belongs to.
struct BoxedItem: Hashable, Sendable {
    let keychainID: KeychainID
    /// The 16 bytes that stay as long as the item lives.
    let itemID: [UInt8]
}

/// What a password has to open: the box of one item's value.
package struct PasswordLock: Hashable, Sendable {
    let item: BoxedItem
    let argon2: Argon2Record
    let commitment: Digest
}

/// Which passwords a call needs.
package enum PasswordDemand: Hashable, Sendable {
    /// Those that open these boxes, each of which is there once.
    case existing([PasswordLock])
    /// One for values that have none yet.
    case new
}

/// Thrown in a transaction that has not written anything, or is rolled back: a value is to be
/// sealed under a password, and the call has brought none.
struct NewPasswordDemand: Error {}
