// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

// The writers' lock: of all processes, one at a time may write, change keys or checkpoint. It is a
// lock on the file `keychain.lock` (docs/FORMAT.md §2); ``FileLock`` says how it is taken. Who has
// no connection to write with, as at the making of a keychain, takes it from there.

extension ConnectionPool {
    /// Takes the writers' lock, and checks that the keychain is writable and in its place.
    ///
    /// - Throws: ``SystemError``: `busy` at the deadline, `readOnly`, `replaced`; the codes of
    ///   ``KeychainPlace/look(underLock:)``.
    package func lockForWriting(_ deadline: Deadline) throws(SystemError) -> HeldLock {
        guard !directory.isReadOnly else {
            throw SystemError(.readOnly, during: "write", path: directory.path)
        }
        let held = try lock.acquire(before: deadline)
        try checkPlace()
        return held
    }

    /// Checks that the keychain is in its place. The caller holds the writers' lock.
    ///
    /// - Throws: ``SystemError``: `replaced`; the codes of ``KeychainPlace/look(underLock:)``.
    func checkPlace() throws(SystemError) {
        guard try place.look(underLock: true) == .inPlace else { throw place.replacement }
    }

    /// Waits until no process is writing or changing keys.
    ///
    /// - Throws: ``SystemError``: `busy`; `replaced` if the keychain is not in its place any more.
    package func awaitWriters(_ deadline: Deadline) throws(SystemError) {
        guard !directory.isReadOnly else { return }
        _ = try lockForWriting(deadline)
    }
}
