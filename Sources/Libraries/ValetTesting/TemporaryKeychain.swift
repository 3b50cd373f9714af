// SPDX-License-Identifier: Apache-2.0

// `ValetTesting` gives the tests of applications keychains of their own.

internal import Foundation
internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// A keychain for the duration of a test. `Valet`, `KeychainSwift` and the SecItem functions use it
/// in place of the user's keychain.
///
/// It is a real keychain with the same files, keys and rules, in a folder of its own, without a
/// passcode. It is in effect inside `use`, in the calling task and its child tasks. Detached tasks,
/// dispatch queues and threads do not inherit it: pass the object to them and call `use` there.
///
/// From the first temporary keychain on, calls of the process outside of `use` fail with
/// `invalidRequest`, so that no test reaches the user's keychain by mistake. ``allowOthers()``
/// permits them.
public final class TemporaryKeychain: Sendable {
    /// Where the files of a temporary keychain are.
    public enum Storage: Sendable {
        /// In `/dev/shm`, a file system in memory that the system may swap out; without it, in the
        /// folder for temporary files. Nothing waits for a disk. Containers often have little space
        /// there.
        case memory
        /// On disk, in the folder for temporary files.
        case disk
    }

    /// The keychain that is in effect in this task; nil if none is.
    public static var current: TemporaryKeychain? { inEffect }

    @TaskLocal private static var inEffect: TemporaryKeychain?

    /// The folder of the files, which the first write creates: mode 0700, with an unguessable name.
    public let folder: String
    private let session: KeychainSession
    private let lifetime: KeychainLifetime

    /// Creates an empty keychain. Forbids calls outside of temporary keychains as
    /// ``forbidOthers()`` does, unless ``allowOthers()`` was called. Writes nothing before the
    /// first use.
    ///
    /// - Parameters:
    ///   - storage: Where its files are.
    ///   - applicationIdentifier: The name of the application that uses it.
    ///   - accessGroups: The application's groups in addition to the group with its own name. New
    ///     items go to the first. The entitlements of the process do not count.
    public init(
        _ storage: Storage = .memory, applicationIdentifier: String = "ValetTesting",
        accessGroups: [String] = []
    ) {
        SessionOverride.begin()
        folder = Self.place(storage) + "/valet-testing-" + UUID().uuidString
        let groups = accessGroups.filter { $0 != applicationIdentifier } + [applicationIdentifier]
        let store = ItemStore(KeychainLocation(folder: folder))
        lifetime = KeychainLifetime { [folder] in
            store.close()
            try? FileManager.default.removeItem(atPath: folder)
        }
        session = KeychainSession(
            store,
            Caller(
                applicationIdentifier: applicationIdentifier,
                accessGroups: groups.map(AccessGroup.init)),
            script: FailureScript(lifetime))
    }

    deinit {
        lifetime.end()
    }

    /// Runs `body` with this keychain in effect.
    @discardableResult
    public func use<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        try Self.$inEffect.binding(self) { () throws(E) -> R in
            try SessionOverride.with(session, body)
        }
    }

    /// Runs `body` with this keychain in effect.
    @discardableResult
    public func use<R, E: Error>(_ body: () async throws(E) -> R) async throws(E) -> R {
        try await Self.$inEffect.binding(self) { () async throws(E) -> R in
            try await SessionOverride.with(session, body)
        }
    }

    /// Ends the keychain, and removes its files once the last call under way has returned. Later
    /// calls fail with `invalidRequest`. Releasing the object does the same. The files of a killed
    /// process stay.
    public func remove() {
        lifetime.end()
    }

    /// Keeps all further calls of this process away from the user's keychain: calls without a
    /// temporary keychain in effect fail with `invalidRequest` until the process ends.
    ///
    /// Creating a temporary keychain does the same. Call it earlier, in a set-up that all tests of
    /// a program share, if tests without a temporary keychain may run before the first with one.
    public static func forbidOthers() {
        SessionOverride.require()
    }

    /// Lets calls without a temporary keychain in effect use the process's own keychain, whether or
    /// not there are temporary ones.
    ///
    /// For a test program with a keychain of its own, by `VALET_HOME`. With a user's keychain,
    /// tests may change it.
    public static func allowOthers() {
        SessionOverride.allowOthers()
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
