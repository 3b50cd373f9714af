// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSystem

/// Makes one process at a time work on a keychain's replica: it holds `sync.lock`. The agent holds
/// it for as long as it runs, and hands it to a command that asks for it by `sync.wish`.
package struct SyncLock {
    private static let waiting = "wait for the agent of sync"

    private let lock: FileLock
    private let wish: FileLock
    private let folder: PrivateDirectory

    /// The lock of the keychain in `folder`, which must exist.
    package init(_ folder: PrivateDirectory) {
        self.folder = folder
        lock = FileLock("sync.lock", in: folder)
        wish = FileLock("sync.wish", in: folder)
    }

    /// Takes the lock for a command. Asks the agent for it, which gives it up between two rounds.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut`.
    package func acquire(before deadline: Deadline) throws(KeychainFailure) -> HeldLock {
        do {
            let wish = try wish.acquire(before: deadline)
            try? folder.touch(KeychainFile.state)
            let held = try lock.acquire(before: deadline)
            _ = consume wish
            return held
        } catch {
            throw Self.failure(error)
        }
    }

    /// Takes the lock for the agent; nil if another process has it.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput`.
    package func acquireForAgent(before deadline: Deadline) throws(KeychainFailure) -> HeldLock? {
        do {
            return try lock.acquire(before: deadline)
        } catch {
            guard error.code == .busy else { throw Self.failure(error) }
            return nil
        }
    }

    /// Whether a command asks for the lock.
    package var isWanted: Bool {
        do {
            _ = try wish.acquire(before: .immediately)
            return false
        } catch {
            return error.code == .busy
        }
    }

    /// Waits until no command asks for the lock.
    package func letOthersGo(before deadline: Deadline) { _ = try? wish.acquire(before: deadline) }

    private static func failure(_ error: SystemError) -> KeychainFailure {
        KeychainFailure(
            error.code == .busy ? .timedOut : .inputOutput, during: waiting,
            message: "\(error)",
            hint: error.code == .busy
                ? "another `valet sync` is at work; wait for it, or end it" : nil)
    }
}
