// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization
package import ValetDatabase
internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainServices
package import ValetKeychainStore
package import ValetSealing
internal import ValetSystem
package import ValetTPM

/// A keychain for a test, in a folder of its own.
/// The folder and the opened keys go with the object.
package final class TestKeychain: Sendable {
    package let folder: String
    package let store: ItemStore
    package let clock: TestClock
    /// The application that calls.
    package let caller: Caller

    /// A keychain that does not exist yet.
    ///
    /// - Parameter groups: The application's groups, beside its own.
    package init(
        tpm: TPMDevice = TPMDevice(), timeLimit: Duration = .seconds(5),
        application: String = "app", groups: [String] = ["one", "two"],
        clock: TestClock = TestClock()
    ) {
        self.clock = clock
        folder = Self.newFolder()
        caller = Caller(
            applicationIdentifier: application, accessGroups: groups.map { AccessGroup($0) })
        // Stretching a passcode at its lowest cost takes a millisecond.
        store = ItemStore(
            KeychainLocation(folder: folder, tpm: tpm), timeLimit: timeLimit,
            stretching: .lowest, clock: { clock.nanoseconds })
    }

    /// A copy of another keychain, which no program has open.
    package convenience init(copying other: TestKeychain) throws {
        self.init()
        try FileManager.default.copyItem(atPath: other.folder, toPath: folder)
    }

    deinit {
        // Fails where the test made no keychain, or has damaged it.
        try? store.keychain.lock(all: true)
        store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The path of a folder that does not exist.
    package static func newFolder() -> String {
        FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-tests-\(UUID().uuidString)").path
    }

    /// The calls of the application.
    package var session: KeychainSession { KeychainSession(store, caller) }

    /// Has the next call open everything anew.
    package func reopen() { store.close() }

    /// A second set of connections and keys for the same files, as another process has.
    package func otherProcess() -> ItemStore {
        let clock = clock
        return ItemStore(
            KeychainLocation(folder: folder + "/."), stretching: .lowest,
            clock: { clock.nanoseconds })
    }
}

/// Its passcode.
extension TestKeychain {
    package static let passcode = "correct"

    package static func passcode(_ text: String) throws -> Passcode { try Passcode(.text(text)) }

    /// A keychain with a passcode.
    package static func withPasscode() throws -> TestKeychain {
        let keychain = TestKeychain()
        try keychain.setPasscode()
        return keychain
    }

    package func setPasscode(_ text: String = passcode) throws {
        try store.keychain.setPasscode(Self.passcode(text))
    }

    /// Unlocks it with what a person types.
    package func unlock(_ text: String = passcode, for duration: Duration? = nil) throws {
        try store.keychain.unlock(Self.passcode(text), for: duration)
    }

    package func lockState() throws -> LockState { try store.keychain.status().state }
}

/// Items.
extension TestKeychain {
    /// Adds a generic password that has "value of …".
    package func add(_ account: String, as protectionClass: ProtectionClass = .whenUnlocked) throws
    {
        let item = NewItem(
            .genericPassword,
            attributes: [.account: .text(account), .service: .text("service")],
            protectionClass: protectionClass)
        try session.add(item, value: .text("value of \(account)"))
    }
}

/// Damage.
extension TestKeychain {
    /// Runs `body` with a connection that knows of no rules.
    package func tamper<R>(_ body: (Connection) throws -> R) throws -> R {
        let directory = try PrivateDirectory.open(folder, creating: false)
        let connection = try Connection(
            to: KeychainFile.database, in: directory, for: .readWrite,
            deadline: Deadline(after: .seconds(5)))
        let result = try body(connection)
        try connection.close()
        return result
    }

    /// Runs one statement with numbers and bytes as its parameters.
    package func tamper(_ sql: StaticString, _ parameters: Parameter...) throws {
        try tamper { connection in
            let run = try Statement(sql, on: connection).start()
            for (index, parameter) in parameters.enumerated() {
                switch parameter {
                case .number(let number): try run.bind(number, at: Int32(index + 1))
                case .bytes(let bytes): try run.bind(bytes, at: Int32(index + 1))
                }
            }
            try run.finish()
        }
    }

    package enum Parameter: ExpressibleByIntegerLiteral {
        case number(Int64)
        case bytes([UInt8])

        package init(integerLiteral value: Int64) { self = .number(value) }
    }

    /// The first number that a statement gives.
    package func number(_ sql: StaticString) throws -> Int64 {
        try tamper { connection in
            let run = try Statement(sql, on: connection).start()
            return try run.step() ? run.int64(0) : 0
        }
    }

    /// Damages the item that was stored first.
    package func damageFirstItem() throws {
        try tamper(
            "UPDATE item SET salt = salt + 1 WHERE number = (SELECT min(number) FROM item)")
        store.close()
    }
}

/// A clock that stands still until it is set, or the system's.
package final class TestClock: Sendable {
    /// nil for the system's.
    private let time: Mutex<Int64?>

    package init() { time = Mutex(1_800_000_000_000_000_000) }

    private init(ofSystem: Void) { time = Mutex(nil) }

    package static var ofSystem: TestClock { TestClock(ofSystem: ()) }

    package var nanoseconds: Int64 {
        get { time.withLock { $0 } ?? WallClock.nanoseconds }
        set { time.withLock { $0 = newValue } }
    }

    package func advance(seconds: Double) { nanoseconds += Int64(seconds * 1e9) }
}

extension SecretBytes {
    /// The bytes of `text`, as a person types them.
    package static func text(_ text: String) -> SecretBytes {
        SecretBytes(copying: Array(text.utf8).span)
    }
}

extension SecretValue {
    /// The value that the text is.
    package static func text(_ text: String) -> SecretValue {
        SecretValue(copying: Array(text.utf8).span)
    }
}
