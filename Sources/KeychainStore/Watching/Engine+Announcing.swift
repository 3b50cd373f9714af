// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSystem

extension Engine {
    /// Tells watchers of the keychain that its lock state may have changed.
    ///
    /// The change itself is done, and stays so if nobody can be told: watchers also look from
    /// time to time (``LockStateWatch``).
    func announceLockState() {
        if !directory.isReadOnly, !isReplaced {
            try? directory.touch(KeychainLocation.stateName)
        }
        LockStateWatch.wakeAll()
    }
}
