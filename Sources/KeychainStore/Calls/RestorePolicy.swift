// SPDX-License-Identifier: Apache-2.0

/// What a restore does with an item whose primary key is in use.
///
/// Whatever it is, items that are not in the backup stay as they are.
package enum RestorePolicy: CaseIterable, Hashable, Sendable {
    /// The one of the backup takes the place of the other, whichever is newer.
    case replace
    /// The one that was written last stays, by the logical times of their rows; of two equal ones
    /// that of the keychain. Where only the backup's is more than a day ahead of the clock, nobody
    /// knows, and that of the keychain stays.
    case keepNewer
    /// The one of the keychain stays.
    case skipExisting
}

/// What a restore did, or would do.
package struct RestoreReport: Hashable, Sendable {
    /// Items that were not there.
    package var addedCount = 0
    /// Items that took the place of one with their primary key.
    package var replacedCount = 0
    /// Items that gave way to the one that is there.
    package var keptCount = 0
    /// Items that took the place of a damaged one, which is in quarantine now.
    package var repairedCount = 0
}
