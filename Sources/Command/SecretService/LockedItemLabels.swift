// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSystem

/// The labels and attributes of items as they were last read, for the time in which the keychain is
/// locked. Without them the helpers of git and docker fail: with libsecret's synchronous functions
/// a program reads the properties of an item before it unlocks it, and then never again.
///
/// They are in memory alone, and forgotten when nothing of the keychain is to be readable.
final class LockedItemLabels: Sendable {
    /// More than a desktop has; further items show no label while they are locked.
    private static let (maximalCount, maximalByteCount) = (20_000, 4 << 10)

    private let records = Lock<[ItemPath: SecretRecord]>([:])

    func record(of item: ItemPath) -> SecretRecord? { records.withLock { $0[item] } }

    func remember(_ record: SecretRecord, of item: ItemPath) {
        let byteCount = record.attributes.reduce(record.label.utf8.count) {
            $0 + $1.key.text.utf8.count + $1.value.utf8.count
        }
        records.withLock { records in
            let fits = byteCount <= Self.maximalByteCount && records.count < Self.maximalCount
            records[item] = fits ? record : nil
        }
    }

    func forget(_ item: ItemPath) { records.withLock { $0[item] = nil } }

    func forgetAll() { records.withLock { $0 = [:] } }
}
