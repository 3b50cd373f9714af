// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing
import ValetSystem
import ValetTPM
import ValetUserPresence

@testable import ValetCLI

/// A command that runs against a real keychain in a temporary folder. Its clock stands still.
final class Bench {
    static let passcode = "correct horse"
    static let application = "application 'valet'"
    /// The default valet in messages.
    static let place = "valet 'default' of \(application)"

    /// The hint after ``setItemAside()``.
    static let setAside =
        "valet: hint: 1 damaged item was set aside, and it may be among them: `valet doctor` says "
        + "more"

    let console = FakeConsole()
    /// Answers the questions for secrets.
    var person = ScriptedAnswers()
    /// The lines of descriptors, by their numbers.
    var descriptors: [Int32: ScriptedAnswers] = [:]
    let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("valet-bench-\(UUID().uuidString)")
    private(set) var store: ItemStore
    /// Runs before each request of the command's own application; nil for none.
    var script: (any CallScript)?
    private let tpm: TPMDevice

    /// The time of day for the command: 2001-01-01 00:00 UTC.
    var seconds: Int64 = 978_307_200

    /// - Parameter home: The name of the keychain's folder.
    init(tpm: TPMDevice = TPMDevice(.device(path: "/dev/no-such-tpm")), home: String = "home") {
        self.tpm = tpm
        store = Self.store(KeychainLocation(folder: folder.path + "/" + home, tpm: tpm))
        #expect(throws: Never.self) {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
        }
    }

    deinit {
        try? store.keychain.lock(all: true)
        store.close()
        try? FileManager.default.removeItem(at: folder)
    }

    private static func store(_ location: KeychainLocation) -> ItemStore {
        // 2001-01-01 00:00 UTC.
        ItemStore(location, stretching: .lowest) { 978_307_200_000_000_000 }
    }

    /// Goes on as a process whose `VALET_DEVICE_KEY_FILE` is that path.
    func reopen(deviceKeyPath: String?) {
        store.close()
        let location = KeychainLocation(folder: store.location.folder, tpm: tpm)
        store = Self.store(
            deviceKeyPath.map { KeychainLocation(location, deviceKeyPath: $0) } ?? location)
    }

    /// A bench whose keychain has secrets "a" and "b" in the default valet.
    static var withTwoSecrets: Bench {
        let bench = Bench()
        bench.run("set", "a", input: Array("one".utf8))
        bench.run("set", "b", input: Array("two".utf8))
        return bench
    }

    /// A bench whose keychain has a passcode, and is unlocked.
    static func withPasscode() throws -> Bench {
        let bench = Bench()
        bench.add("secret")
        try bench.store.keychain.setPasscode(passcode(Self.passcode))
        return bench
    }

    static func passcode(_ text: String) throws -> Passcode {
        try Passcode(SecretBytes(copying: Array(text.utf8).span))
    }

    /// Runs a command line; descriptor 3 has `lines`. Without `input` that of the last one stays.
    @discardableResult
    func run(_ words: String..., input: [UInt8]? = nil, lines: [String] = []) -> ExitCode {
        run(words, input: input, lines: lines)
    }

    @discardableResult
    func run(_ words: [String], input: [UInt8]? = nil, lines: [String] = []) -> ExitCode {
        descriptors[3] = ScriptedAnswers(lines, isInteractive: false)
        if let input { console.input = input }
        console.output = []
        console.notes = []
        console.questions = []
        return ValetTool.run(words, in: context)
    }

    var context: Context {
        let session = KeychainSession(store, session.caller, script: script)
        let (person, descriptors, seconds) = (person, descriptors, seconds)
        var context = Context(console: console)
        context.own = { () throws(KeychainFailure) in session }
        context.store = { () throws(KeychainFailure) in session.store }
        context.clock = { seconds * 1_000_000_000 }
        let answers = { (number: Int32?) -> any SecretSource in
            number.map { descriptors[$0] ?? ScriptedAnswers(isInteractive: false) } ?? person
        }
        context.passcodes = { answers($0?.number) }
        context.otherSecrets = { answers($0?.number) }
        return context
    }

    /// What the command itself sees.
    var session: KeychainSession {
        KeychainSession(store, Caller(applicationIdentifier: "valet", accessGroups: []))
    }

    /// Stores an item whose value is "value".
    func add(_ key: String, as accessibility: ProtectionClass = .whenUnlocked) {
        let words = ["set", key, "--accessibility", accessibility.word]
        #expect(run(words, input: Array("value".utf8)) == .success)
    }

    /// Adds an item with one byte as its value.
    func add(_ item: NewItem) throws {
        try session.add(item, value: SecretValue(copying: ([1] as [UInt8]).span))
    }

    /// Whether an item can be read.
    func canRead(_ key: String, as accessibility: ProtectionClass = .whenUnlocked) -> Bool {
        run("get", key, "--accessibility", accessibility.word) == .success
            && console.outputText == "value"
    }

    func opens(with passcode: String) throws -> Bool {
        let passcode = try Self.passcode(passcode)
        do throws(KeychainFailure) {
            try store.keychain.check(passcode)
            return true
        } catch {
            guard error.code == .authenticationFailed else { throw error }
            return false
        }
    }

    /// All items of all applications.
    var items: [StoredItem] {
        var items: [StoredItem] = []
        #expect(throws: Never.self) {
            var walk = store.walkEverything()
            var damage: KeychainFailure?
            while !walk.isAtEnd {
                items += try store.next(of: &walk).readable(noting: &damage)
            }
        }
        return items
    }

    /// The values of the command's own secrets.
    var values: [[UInt8]] {
        var values: [[UInt8]] = []
        #expect(throws: Never.self) {
            for item in items {
                let value = try session.value(of: ItemQuery(item.reference))
                values += [value?.withBytes { bytes in bytes.indices.map { bytes[$0] } } ?? []]
            }
        }
        return values
    }

    /// All that was written and said.
    var everything: String {
        console.outputText + console.notes.joined() + console.questions.joined() + console.shown
    }
}

/// What may become of the files.
extension Bench {
    /// Damages every item, as a failing disk may.
    func damageItems() throws { try tamper("UPDATE item SET names = zeroblob(72)") }

    /// Damages the item that was stored first.
    func damageFirstItem() throws {
        try tamper(
            """
            UPDATE item SET salt = salt + 1 WHERE number = (SELECT min(number) FROM item)
            """)
    }

    /// Changes the database behind the keychain's back.
    func tamper(_ sql: StaticString) throws {
        store.close()
        let directory = try PrivateDirectory.open(store.location.folder, creating: false)
        let connection = try Connection(
            to: KeychainFile.database, in: directory, for: .readWrite,
            deadline: Deadline(after: .seconds(5)))
        try Statement(sql, on: connection).start().finish()
        try connection.close()
    }

    /// Sets an item aside: a damaged one that another one replaces.
    func setItemAside() throws {
        add("aside")
        try damageItems()
        add("aside")
    }

    /// Goes on with the files as a crash leaves them, with a flipped byte in the log.
    func crash() throws {
        for number in 0..<12 { add("\(number)") }
        let home = folder.appendingPathComponent("crashed")
        try FileManager.default.copyItem(atPath: store.location.folder, toPath: home.path)
        try FileManager.default.removeItem(at: home.appendingPathComponent("keychain.db-shm"))
        let file = home.appendingPathComponent("keychain.db-wal")
        var log = try Data(contentsOf: file)
        let frames = stride(from: 32, to: log.count, by: 24 + 4096)
            .prefix { log[$0 + 8..<$0 + 16] == log[16..<24] }
        log[32 + frames.count / 2 * (24 + 4096) + 100] ^= 1
        try log.write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        store.close()
        store = Self.store(KeychainLocation(folder: home.path, tpm: tpm))
    }
}
