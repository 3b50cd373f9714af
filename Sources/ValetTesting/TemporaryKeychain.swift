// SPDX-License-Identifier: Apache-2.0

// `ValetTesting` gives tests of applications keychains of their own.

internal import Foundation
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// A keychain for the length of a test, with which `Valet`, `KeychainSwift` and the SecItem
/// functions work in place of the user's.
///
/// It is a real one: the same files, keys and rules as any, in a folder of its own, without a
/// passcode. It is in effect inside `use`: in the task that calls it and in tasks that this one
/// starts. Detached tasks, dispatch queues and threads do not inherit it; hand the object over and
/// call `use` there.
public final class TemporaryKeychain: Sendable {
    /// Where the files of a temporary keychain are.
    public enum Storage: Sendable {
        /// In memory, as far as there is a file system for that: a folder in `/dev/shm`, which the
        /// system may swap out, or one for temporary files where there is none. Nothing waits for a
        /// disk. Containers often have little room there.
        case memory
        /// On disk, in the folder for temporary files.
        case disk
    }

    /// The keychain that is in effect here; nil if none is.
    public static var current: TemporaryKeychain? { inEffect }

    @TaskLocal private static var inEffect: TemporaryKeychain?

    /// The folder of the files, there after the first write: mode 0700, with a name that nobody
    /// guesses.
    public let folder: String
    private let session: KeychainSession
    private let script: FailureScript

    /// An empty keychain. Nothing is written before it is used.
    ///
    /// - Parameters:
    ///   - storage: Where its files are.
    ///   - applicationIdentifier: The name of the application that uses it.
    ///   - accessGroups: The groups that the application has beside the one that is named like it;
    ///     new items go to the first. Entitlements of the process do not count.
    public init(
        _ storage: Storage = .memory, applicationIdentifier: String = "ValetTesting",
        accessGroups: [String] = []
    ) {
        folder = Self.place(storage) + "/valet-testing-" + UUID().uuidString
        let groups = accessGroups.filter { $0 != applicationIdentifier } + [applicationIdentifier]
        let store = ItemStore(KeychainLocation(folder: folder))
        script = FailureScript { [folder] in
            store.close()
            try? FileManager.default.removeItem(atPath: folder)
        }
        session = KeychainSession(
            store,
            Caller(
                applicationIdentifier: applicationIdentifier,
                accessGroups: groups.map(AccessGroup.init)),
            script: script)
    }

    deinit {
        script.end()
    }

    /// Runs `body` with this keychain in effect.
    @discardableResult
    public func use<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        let result: Result<R, E> = Self.$inEffect.withValue(self) {
            Result { () throws(E) -> R in try SessionOverride.with(session, body) }
        }
        return try result.get()
    }

    /// Runs `body` with this keychain in effect.
    @discardableResult
    public func use<R, E: Error>(_ body: () async throws(E) -> R) async throws(E) -> R {
        let result: Result<R, E> = await Self.$inEffect.withValue(self) {
            do throws(E) {
                return .success(try await SessionOverride.with(session, body))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Ends the keychain and removes its files, when the last call that is under way has ended.
    /// Calls that still come fail with `invalidRequest`. Happens by itself when nobody has the
    /// object any more; files of a process that is killed stay.
    public func remove() {
        script.end()
    }

    /// From now on no call of this process reaches the keychain of its user: those outside of a
    /// temporary one fail with `invalidRequest`, for as long as the process lives.
    ///
    /// For a set-up that all tests of a program share.
    public static func forbidOthers() {
        SessionOverride.require()
    }

    private static func place(_ storage: Storage) -> String {
        let memory = "/dev/shm"
        switch storage {
        case .memory where FileManager.default.isWritableFile(atPath: memory): return memory
        case .memory, .disk:
            return FileManager.default.temporaryDirectory.standardizedFileURL.path
        }
    }
}
