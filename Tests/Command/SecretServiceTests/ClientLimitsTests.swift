// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import Testing
import ValetKeychainModel
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetSecretService

/// Holds jobs until it is opened, and notes the order in which they begin.
private final class Gate: Sendable {
    private let state = Lock((isOpen: false, begun: [String]()))

    var begun: [String] { state.withLock { $0.begun } }

    func open() { state.withLock { $0.isOpen = true } }

    func pass(_ name: String) {
        state.withLock { $0.begun.append(name) }
        while !state.withLock({ $0.isOpen }) { usleep(1_000) }
    }

    func note(_ name: String) { state.withLock { $0.begun.append(name) } }

    func wait(for count: Int) -> Bool {
        let end = Deadline(after: .seconds(20))
        while begun.count < count {
            guard end.sleep(atMost: 1_000_000) else { return false }
        }
        return true
    }
}

@Suite struct `The threads of the Secret Service` {
    private let gate = Gate()

    private func job(_ name: String) -> Workers.Job {
        Workers.Job(
            run: { [gate] in gate.pass(name) }, refuse: { [gate] in gate.note("no " + name) })
    }

    // Promise: 20.5
    @Test func `A program with many connections leaves threads to others`() throws {
        let workers = try Workers(.init(threadCount: 4, ownerThreadCount: 3))
        for number in 0..<20 {
            #expect(workers.run(for: "many \(number)", of: "many", job("many")) == .taken)
        }
        #expect(workers.run(for: "other", of: "other", job("other")) == .taken)
        #expect(gate.wait(for: 4))
        #expect(gate.begun.count { $0 == "many" } == 3 && gate.begun.contains("other"))
        gate.open()
        workers.finish(before: Deadline(after: .seconds(20)))
        #expect(gate.begun.count == 21)
    }

    @Test func `The calls of one connection keep their order`() throws {
        let workers = try Workers()
        gate.open()
        for number in 0..<200 {
            #expect(workers.run(for: "one", of: "one", job("\(number)")) == .taken)
        }
        workers.finish(before: Deadline(after: .seconds(20)))
        #expect(gate.begun == (0..<200).map(String.init))
        #expect(!workers.isBusy(for: "one"))
    }

    // Promise: 20.5
    @Test func `The reads of a client that has left are dropped, and its changes are made`() throws
    {
        let workers = try Workers()
        for number in 0..<6 {
            var job = job("\(number)")
            job.isForClient = number.isMultiple(of: 2)
            #expect(workers.run(for: "left", of: "one", job) == .taken)
        }
        #expect(gate.wait(for: 1))
        workers.drop("left")
        workers.drop("nobody")
        #expect(gate.begun == ["0", "no 2", "no 4"])
        gate.open()
        workers.finish(before: Deadline(after: .seconds(20)))
        #expect(gate.begun.dropFirst(3) == ["1", "3", "5"])
        #expect(!workers.isBusy(for: "left"))
    }

    // Promise: 20.5
    @Test func `A client whose calls are all dropped is forgotten`() throws {
        let workers = try Workers(.init(threadCount: 1, ownerThreadCount: 1))
        #expect(workers.run(for: "other", of: "other", job("other")) == .taken)
        #expect(gate.wait(for: 1))
        for number in 0..<3 {
            #expect(workers.run(for: "left", of: "one", job("\(number)")) == .taken)
        }
        workers.drop("left")
        #expect(!workers.isBusy(for: "left"))
        gate.open()
        workers.finish(before: Deadline(after: .seconds(20)))
        #expect(gate.begun == ["other", "no 0", "no 1", "no 2"])
    }

    // Promise: 20.5
    @Test func `If all places are taken, the program with most calls loses its last one`() throws {
        let workers = try Workers(
            .init(threadCount: 2, ownerThreadCount: 1, jobCount: 10, ownerJobCount: 8))
        for number in 0..<9 {
            let answer = workers.run(for: "many \(number % 3)", of: "many", job("\(number)"))
            #expect(answer == (number < 8 ? .taken : .tooManyJobs))
        }
        for number in 0..<4 {
            #expect(workers.run(for: "other", of: "other", job("other \(number)")) == .taken)
        }
        let refused = gate.begun.filter { $0.hasPrefix("no ") }
        #expect(refused.count == 2 && refused.allSatisfy { !$0.hasPrefix("no other") })
        gate.open()
        workers.finish(before: Deadline(after: .seconds(20)))
        #expect(gate.begun.count == 12)
    }
}

@Suite struct `A program that cannot be looked at` {
    private let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent(UUID().uuidString)

    /// What is found of this process if the kernel shows it so.
    private func look(_ files: [String: String]) throws -> AskingProgram {
        defer { try? FileManager.default.removeItem(at: folder) }
        let own = folder.appendingPathComponent("\(getpid())")
        try FileManager.default.createDirectory(
            at: own.appendingPathComponent("root"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: own.path + "/exe", withDestinationPath: "/bin/sh")
        for (name, text) in files {
            let path = own.path + "/" + name
            if text.hasPrefix("-> ") {
                try FileManager.default.createSymbolicLink(
                    atPath: path, withDestinationPath: String(text.dropFirst(3)))
            } else {
                try text.write(toFile: path, atomically: false, encoding: .utf8)
            }
        }
        let handle = try #require(ProcessHandle(getpid()))
        return AskingProgram(
            BusClientProcess(number: getpid(), handle: handle), in: folder.path)
    }

    // Promise: 20.7
    @Test(
        arguments: [
            ("0::/user.slice/session-2.scope", .none), ("", .unknown), ("nonsense", .unknown),
            ("0::/a/snap.evil.app-1.scope/inner/x", .named("snap:evil")),
            ("0::/a/snap.evil.app-1.scope/inner (deleted)", .named("snap:evil")),
            ("0::/a/snap.evil.app-1.scope (deleted)", .named("snap:evil")),
            ("2:cpu:/snap.evil.app-1.scope\n0::/", .named("snap:evil")),
            ("0::/app-flatpak-org.a.App-9.scope/x\n", .named("flatpak:org.a.App")),
            ("0::/snap.a.b-1.scope/snap.c.d-2.scope", .unknown),
        ] as [(String, AskingProgram.Sandbox)])
    func `Its sandbox is anywhere in its control group`(
        _ groups: String, _ sandbox: AskingProgram.Sandbox
    ) throws {
        #expect(try look(["cgroup": groups]).sandbox == sandbox)
    }

    // Promise: 20.7
    @Test func `A description of any size names the Flatpak, and one that cannot be read none`()
        throws
    {
        let long = "[Environment]\nA=" + String(repeating: "x", count: 200_000)
        let name = "\n[Application]\nname=org.a.App\n"
        let cgroup = "0::/session.scope"
        for text in [name + long, long + name, "\r\n [Application] \r\n name = org.a.App \r\n"] {
            let found = try look(["cgroup": cgroup, "root/.flatpak-info": text])
            #expect(found.sandbox == .named("flatpak:org.a.App"))
        }
        for text in ["", "[Instance]\nname=x", "-> /etc/hostname", "-> nowhere"] {
            let found = try look(["cgroup": cgroup, "root/.flatpak-info": text])
            #expect(found.sandbox == .unknown && !found.isWhollyKnown)
        }
        #expect(try look([:]).sandbox == .unknown)
    }

    // Promise: 20.7
    @Test func `What denies or asks is denied to it, and what allows by name is not for it`() throws
    {
        let unknown = try look([:])
        func access(_ text: String) throws -> AccessPolicy.Access {
            AccessDecision(unknown, try AccessPolicy(text), version: 0, [:]) { _ in }
                .access(to: "login")
        }
        #expect(try access("deny * flatpak:org.a.App\nallow * *") == .deny)
        #expect(try access("ask login snap:a") == .deny)
        #expect(try access("ask * *") == .deny)
        #expect(try access("allow * flatpak:org.a.App\ndeny * *") == .deny)
        #expect(try access("allow * *\ndeny * flatpak:org.a.App") == .allow)
        #expect(try access("deny work flatpak:org.a.App") == .allow)
    }
}

@Suite struct `The file of the policy` {
    private let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent(UUID().uuidString)

    private func settled(_ file: PolicyFile) -> AccessPolicy? {
        _ = file.current()
        usleep(300_000)
        return file.current()
    }

    // Promise: 20.7
    @Test func `A mistake leaves the last policy in force, and closes everything without one`()
        throws
    {
        let path = folder.path + "/valet/secret-service.policy"
        try FileManager.default.createDirectory(
            atPath: folder.path + "/valet", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func write(_ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            unsafe _ = chmod(path, 0o644)
        }
        let file = try PolicyFile(in: folder.path, patience: .seconds(5))
        #expect(file.current() == nil && file.problem == nil)
        try write("deny")
        #expect(settled(file)?.isClosed == true && file.problem != nil)
        try write("ask login *\n")
        #expect(file.current()?.isClosed == true, "while it may be written")
        #expect(settled(file)?.rules.first?.access == .ask && file.problem == nil)
        for text in ["", "# a\n", "allow * *", "allow * *\nask login /usr/bin/x", "allow *\n"] {
            try write(text)
            #expect(settled(file)?.rules.first?.access == .ask && file.problem != nil)
        }
    }

    // Promise: 20.7
    @Test(.timeLimit(.minutes(2)))
    func `While its file system does not answer, the last policy stays, and only one call waits`()
        throws
    {
        let gate = DispatchSemaphore(value: 1)
        let contents = Lock("ask login *\n")
        let file = try PolicyFile(in: "/", patience: .milliseconds(500)) { _ in
            gate.wait()
            defer { gate.signal() }
            return contents.withLock { Array($0.utf8) }
        }
        #expect(file.current()?.rules.first?.access == .ask)
        gate.wait()
        contents.withLock { $0 = "deny login *\n" }
        for _ in 0..<1_000 { #expect(file.current()?.rules.first?.access == .ask) }
        gate.signal()
        #expect(settled(file)?.rules.first?.access == .deny)
    }

    // Promise: 20.7
    @Test(arguments: ["the file", "its folder", "what its folder leads to"])
    func `A policy behind a link that leads nowhere stays in force; one that is removed ends`(
        _ lost: String
    ) throws {
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: folder.path + "/away/valet", withIntermediateDirectories: true)
        defer { try? manager.removeItem(at: folder) }
        try manager.createSymbolicLink(
            atPath: folder.path + "/link", withDestinationPath: folder.path + "/away")
        let path = folder.path + "/away/valet/secret-service.policy"
        try Data("ask login *\n".utf8).write(to: URL(fileURLWithPath: path))
        unsafe _ = chmod(path, 0o644)
        let file = try PolicyFile(in: folder.path + "/link", patience: .seconds(5))
        #expect(file.current()?.rules.first?.access == .ask && file.problem == nil)
        let place =
            switch lost {
            case "the file": path
            case "its folder": folder.path + "/away/valet"
            default: folder.path + "/away"
            }
        try manager.moveItem(atPath: place, toPath: place + ".gone")
        #expect(file.current()?.isClosed == true)
        let isRemoved = !lost.hasPrefix("what")
        let access = settled(file)?.rules.first?.access
        #expect(access == (isRemoved ? nil : .ask) && (file.problem == nil) == isRemoved)
        let next = try PolicyFile(in: folder.path + "/link", patience: .seconds(5)).current()
        #expect(isRemoved ? next == nil : next?.isClosed == true)
        try manager.moveItem(atPath: place + ".gone", toPath: place)
        #expect(settled(file)?.rules.first?.access == .ask && file.problem == nil)
    }

    // Promise: 20.5
    @Test func `A path that cannot be followed now denies by what was known of it`() throws {
        let isAway = Atomic<Bool>(false)
        let paths = PolicyPaths { (path) throws(SystemError) in
            guard !isAway.load(ordering: .relaxed) else {
                throw SystemError(.inputOutput, during: "follow", path: path)
            }
            return PolicyPaths.Place(identity: nil, resolved: "/real")
        }
        #expect(paths.places(of: ["/a"])["/a"]?.isCurrent == true)
        isAway.store(true, ordering: .relaxed)
        let place = paths.places(of: ["/a", "/b"])
        #expect(place["/a"]?.resolved == "/real" && place["/a"]?.isCurrent == false)
        #expect(place["/b"]?.resolved == nil && place["/b"]?.isCurrent == false)
    }

    // Promise: 20.5
    @Test func `A path that does not answer delays the others for a moment, and allows nobody`()
        throws
    {
        let gate = Gate()
        let paths = PolicyPaths { path in
            if path.hasPrefix("/dead") { gate.pass(path) }
            return PolicyPaths.Place(identity: nil, resolved: path + "!")
        }
        let dead = Set((0..<20).map { "/dead/\($0)" })
        let live = Set((0..<100).map { "/live/\($0)" })
        for _ in 0..<3 {
            let begin = Deadline.now
            let places = paths.places(of: dead.union(live))
            #expect(Deadline.now - begin < 1_000_000_000)
            #expect(live.allSatisfy { places[$0]?.isCurrent == true })
            #expect(dead.allSatisfy { places[$0]?.isCurrent != true })
        }
        #expect(gate.begun.count <= 20)
        gate.open()
        let end = Deadline(after: .seconds(20))
        while paths.places(of: dead).values.count(where: \.isCurrent) < 20 {
            guard end.sleep(atMost: 10_000_000) else { break }
        }
        #expect(paths.places(of: dead).values.count { $0.isCurrent } == 20)
    }
}

@Suite struct `The collection in memory` {
    @Test func `A quick search looks at few items, and all of it is limited`() throws {
        var items = SessionItems()
        let value = SecretValue(SecretBytes.text("v"))
        for number in 0..<10_000 {
            let record = SecretRecord(
                label: "", attributes: ["n": "\(number)"], contentType: "text/plain")
            _ = try items.store(record, value, replacing: false)
        }
        #expect(throws: KeychainFailure.self) {
            try items.store(
                SecretRecord(label: "", attributes: [:], contentType: ""), value, replacing: false)
        }
        #expect(try items.ids(having: ["n": "77"]) == ["78"])
        items.isQuick = true
        #expect {
            try items.ids(having: ["n": "77"])
        } throws: { ($0 as? KeychainFailure)?.code == .timedOut }
        #expect(try items.secret(of: "78") != nil)
    }
}
