// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetSecretService

extension AccessGrant.Program {
    /// `/usr/bin/program`, in a version of its own for each number.
    static func file(_ version: UInt64) -> AccessGrant.Program {
        .file(
            path: "/usr/bin/program",
            FileVersion(
                device: 1, inode: version, byteCount: 3, changed: 4, nanoseconds: 5))
    }
}

/// A copy of `sleep` that runs, in a folder of its own.
private final class RunningCopy {
    let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent(UUID().uuidString)
    let path: String
    private var process = Process()

    init(_ name: String = "program") throws {
        path = folder.path + "/" + name
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try start()
    }

    /// Ends the process, and starts a new file at the path.
    func start() throws {
        end()
        process = Process()
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: "/bin/sleep", toPath: path)
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["100"]
        try process.run()
    }

    private func end() {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    deinit {
        end()
        try? FileManager.default.removeItem(at: folder)
    }

    var program: AskingProgram { AskingProgram(process: process.processIdentifier) }
}

@Suite struct `The program of a lasting yes` {
    // Promise: 20.13
    @Test func `It is the file at a path, as it was then`() throws {
        let copy = try RunningCopy()
        let first = try #require(copy.program.lasting)
        #expect(first.name == copy.path && copy.program.lasting == first)
        // A running program whose file is gone, or has made way for another one.
        try FileManager.default.removeItem(atPath: copy.path)
        #expect(copy.program.lasting == nil)
        #expect(copy.program.executable?.formerPath == copy.path)
        // Another file at the path.
        try copy.start()
        #expect(copy.program.lasting?.name == copy.path && copy.program.lasting != first)
    }

    /// What is found of this process if the kernel shows its files so.
    private func look(_ place: String) throws -> AskingProgram {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let own = folder.appendingPathComponent("\(getpid())")
        for name in ["root", "ns"] {
            try FileManager.default.createDirectory(
                at: own.appendingPathComponent(name), withIntermediateDirectories: true)
        }
        try FileManager.default.createSymbolicLink(
            atPath: own.path + "/exe", withDestinationPath: "/bin/sleep")
        try FileManager.default.createSymbolicLink(
            atPath: own.path + "/ns/mnt", withDestinationPath: place)
        try "0::/session.scope\n".write(
            toFile: own.path + "/cgroup", atomically: false, encoding: .utf8)
        let handle = try #require(ProcessHandle(getpid()))
        return AskingProgram(BusClientProcess(number: getpid(), handle: handle), in: folder.path)
    }

    // Promise: 20.13
    @Test func `A program that sees other files than the service gets none`() throws {
        let own = try #require(FilePath.target(ofLink: "/proc/self/ns/mnt"))
        #expect(try look(own).lasting?.name == "/bin/sleep")
        let other = try look("mnt:[1]")
        #expect(other.lasting == nil && other.isWhollyKnown && !other.runsScripts)
    }

    // Promise: 20.13
    @Test func `A change of the file in its place is another version`() throws {
        let copy = try RunningCopy()
        let first = copy.program.lasting
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o700], ofItemAtPath: copy.path)
        #expect(first != nil && copy.program.lasting != nil && copy.program.lasting != first)
    }

    // Promise: 20.13
    @Test(arguments: ["python3.11", "bash", "perl5.36.0", "gjs-console", "ld-linux-x86-64.so.2"])
    func `An interpreter gets none, because any script can run as it`(_ name: String) throws {
        let copy = try RunningCopy(name)
        #expect(copy.program.lasting == nil && copy.program.runsScripts)
        #expect(Consent.Term.offered(to: copy.program) == [.untilLock, .once])
        let lines = UnlockPrompt.lines(copy.program, ["login"], hasChanged: false)
        #expect(lines.contains { $0.contains("scripts") })
    }

    @Test(arguments: ["/usr/bin/geary", "/opt/shell", "/usr/bin/pythonista", "/x/bash.d/mail"])
    func `Other programs are no interpreters`(_ path: String) {
        #expect(!Interpreters.contain(path))
    }

    // Promise: 20.13
    @Test func `A sandbox is named, and a program of which something is unknown gets none`() {
        #expect(AskingProgram(nil).lasting == nil)
        #expect(AskingProgram(flatpak: "org.example.App").lasting == nil)
        #expect(AskingProgram(process: getpid()).lasting != nil)
    }
}

@Suite struct `A lasting yes` {
    private let own = AskingProgram(process: getpid())
    private let keychain = TestKeychain()
    private let session: KeychainSession

    init() { session = Holdings(keychain).list.session }

    private func access(_ text: String) throws -> AccessDecision {
        AccessDecision(own, try AccessPolicy(text), version: 0, [:]) { _ in }
    }

    private func grant(_ collection: String, _ version: UInt64 = 1) -> AccessGrant {
        AccessGrant(.file(version), collection: collection, since: 7)
    }

    // Promise: 20.13
    @Test func `It answers what the policy asks, and opens nothing that the policy denies`() throws
    {
        var access = try access("ask login *\ndeny work *\nask mail *")
        access.lasting = ["login": grant("login"), "work": grant("work")]
        #expect(access.access(to: "login") == .allow)
        #expect(access.access(to: "work") == .deny)
        #expect(access.access(to: "mail") == .ask)
        #expect(access.mayAsk)
        #expect(try !self.access("deny * *").mayAsk)
    }

    @Test func `It is kept with its time and its last use`() throws {
        try session.keep([grant("work")])
        try session.keep([grant("login")])
        try session.keep([AccessGrant(.sandbox("snap:mail"), collection: "login", since: 8)])
        let found = try session.grants()
        #expect(found.grants.map(\.collection) == ["login", "work", "login"] && !found.hasDamage)
        #expect(found.grants.map(\.since) == [7, 7, 8])
        try session.noteUse(of: grant("work"), at: 100_000)
        #expect(try session.grants(of: "/usr/bin/program").grants.map(\.lastUse) == [nil, 100_000])
        // Another version of the program takes the place of the former one.
        try session.keep([grant("work", 2)])
        let now = try session.grants(of: "/usr/bin/program").grants
        #expect(now.map(\.program) == [.file(1), .file(2)])
        #expect(now.last?.lastUse == nil)
    }

    // Promise: 20.14
    @Test func `What was taken back does not come back with a use`() throws {
        try session.keep([grant("login")])
        try session.keep([grant("work")])
        #expect(try session.removeGrants(of: "/usr/bin/program", collection: "login") == 1)
        try session.noteUse(of: grant("login"), at: 9)
        #expect(try session.grants().grants == [grant("work")])
        #expect(try session.removeAllGrants() == 1 && session.grants().grants.isEmpty)
        #expect(try session.removeGrants(of: "/usr/bin/program") == 0)
    }

    @Test(
        arguments: [(nil, true), (1_000, false), (1_000 - 86_399, false), (1_000 - 86_400, true)]
            as [(Int?, Bool)])
    func `A use is noted once a day`(_ last: Int?, _ isNoted: Bool) {
        var grant = grant("login")
        grant.lastUse = last.map { UInt64($0 + 100_000) }
        #expect(grant.isOutdated(at: 101_000) == isNoted)
    }

    // Promise: 20.13
    @Test(
        arguments: [
            "", "1", "1 7", "2 7 1 2 3 4 5", "1 7 1 2 3 4", "1 7 1 2 3 4 5 6", "1 07 1 2 3 4 5",
            "1 7 1 2 3 4 -5", "1 7 1 2  3 4 5", "1 7 a 2 3 4 5",
        ])
    func `A record that is not understood lets nobody do anything`(_ text: String) throws {
        let caller = Caller(applicationIdentifier: "a", accessGroups: [.ofGrants])
        let item = NewItem(
            .genericPassword,
            attributes: [
                .service: .text("grant:/usr/bin/program"), .account: .text("login"),
                .generic: .text(text),
            ],
            accessGroup: .ofGrants, protectionClass: .afterFirstUnlockThisDeviceOnly)
        try KeychainSession(keychain.store, caller).add(item, value: nil)
        let found = try session.grants()
        #expect(found.grants.isEmpty && found.hasDamage)
        #expect(try session.removeAllGrants() == 1)
        #expect(try !session.grants().hasDamage)
    }

    // Promise: 20.14
    @Test func `It is known after the first unlock, and not before`() throws {
        try session.keep([grant("login")])
        try keychain.setPasscode()
        try keychain.store.keychain.lock()
        #expect(try session.grants().grants.count == 1)
        try keychain.store.keychain.lock(all: true)
        #expect { try session.grants() } throws: { ($0 as? KeychainFailure)?.code == .locked }
        try keychain.unlock()
        #expect(try session.grants().grants.count == 1)
    }

    // Promise: 20.13
    @Test func `A yes for one use ends with it, and one until the lock does not`() throws {
        var access = try access("ask * *")
        let period = try keychain.store.keychain.lockPeriod()
        access.add(Consent(.once, ["login"], period))
        access.add(Consent(.untilLock, ["work"], period))
        #expect(access.access(to: "login") == .allow && access.access(to: "work") == .allow)
        let after = access.afterUse()
        #expect(after.access(to: "login") == .ask && after.access(to: "work") == .allow)
        #expect(access.during(nil).access(to: "work") == .ask && access.during(nil).once.isEmpty)
        #expect(Plan.reading { _ in .nothing }.isUse("GetSecrets"))
        #expect(Plan.changing { _ in .nothing }.isUse("CreateItem"))
        #expect(!Plan.changing { _ in .nothing }.isUse("Prompt"))
        #expect(!Plan.reading { _ in .nothing }.isUse("Get"))
    }

    // Promise: 20.13
    @Test func `Always is kept for the program that was shown, else it ends with the lock`() throws
    {
        let period = try keychain.store.keychain.lockPeriod()
        let kept = Consent(.always, ["login"], period).kept(for: own, in: session)
        #expect(kept.term == .always && kept.problem == nil)
        let found = try session.grants().grants
        #expect(found.map(\.program) == [own.lasting].compactMap(\.self))
        try keychain.setPasscode()
        try keychain.store.keychain.lock(all: true)
        let lost = Consent(.always, ["login"], period).kept(for: own, in: session)
        #expect(lost.term == .untilLock && lost.problem != nil)
    }

    // Promise: 20.13
    @Test func `The question says that the program has changed, before anything can be cut off`() {
        let lines = UnlockPrompt.lines(own, ["login", "work"], hasChanged: true)
        #expect(lines[1].contains("has changed"))
        #expect(lines.last == "It asks for 'login', 'work'.")
        #expect(UnlockPrompt.lines(own, ["login"], hasChanged: false).count == 2)
    }

    @Test func `A use of a collection that it opens is noted, and no other use`() throws {
        let holdings = Holdings(keychain)
        let record = SecretRecord(label: "a", attributes: ["n": "1"], contentType: "text/plain")
        let id = try holdings.items(of: "login")
            .store(record, SecretValue(SecretBytes.text("value")), replacing: false).id
        let noted = Lock<[AccessGrant]>([])
        var access = try access("ask login *")
        access.lasting = ["login": grant("login")]
        access.noteUse = { grant in noted.withLock { $0.append(grant) } }
        func read() throws {
            _ = try holdings.seen(by: access)
                .secret(of: ItemPath(collection: "login", id: id), through: .plain, "/s")
        }
        try read()
        #expect(noted.withLock { $0 } == [grant("login")])
        access.add(Consent(.untilLock, ["login"], try keychain.store.keychain.lockPeriod()))
        try read()
        #expect(noted.withLock { $0.count } == 1)
    }
}
