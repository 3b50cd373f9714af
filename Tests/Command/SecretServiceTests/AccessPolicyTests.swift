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

extension AskingProgram {
    convenience init(process number: Int32) {
        self.init(ProcessHandle(number).map { BusClientProcess(number: number, handle: $0) })
    }
}

@Suite struct `Who asks the Secret Service` {
    @Test(
        arguments: [
            ("app-flatpak-org.example.App-1234.scope", "flatpak:org.example.App"),
            ("app-flatpak-org.example.My-App-99.scope", "flatpak:org.example.My-App"),
            (#"app-flatpak-org.example.My\x2dApp-99.scope"#, "flatpak:org.example.My-App"),
            (#"snap.my\x2dapp.run-2f0e.scope"#, "snap:my-app"),
            ("snap.firefox.firefox-2f0e.scope", "snap:firefox"),
            ("snap.cups.cupsd.service", "snap:cups"), ("app-flatpak-.scope", nil),
            ("snap.scope", nil), ("session-2.scope", nil),
            ("app-flatpak-org.example.App-1234", nil),
        ] as [(String, String?)])
    func `A sandbox is named by its control group`(_ group: String, _ name: String?) {
        let expected = name.map(AskingProgram.Sandbox.named) ?? .none
        #expect(AskingProgram.sandbox(inControlGroup: group) == expected)
    }

    // Promise: 20.8
    @Test(arguments: [#"a\x2"#, #"a\n"#, #"a\xZZb"#, #"a\xff"#, #"a\"#])
    func `A sandbox whose name systemd cannot have written is unknown`(_ name: String) {
        let group = "app-flatpak-\(name)-1.scope"
        #expect(AskingProgram.sandbox(inControlGroup: group) == .unknown)
        #expect(AskingProgram.sandbox(inControlGroups: ["0::/user.slice/\(group)"]) == .unknown)
    }

    @Test(
        arguments: [
            ("[Runtime]\nname=x\n[Application]\nruntime=y\nname=org.a.App", "org.a.App"),
            ("\u{20}[Application] \r\n name = org.a.App \r\n", "org.a.App"),
            ("[Instance]\nname=x\n", nil), ("[Application]\nname=\n[Context]\nname=x", nil),
            ("[Application]\nruntime-name=x", nil),
        ] as [(String, String?)])
    func `A Flatpak is named by the file of its sandbox`(_ text: String, _ name: String?) {
        var metadata = FlatpakMetadata()
        for line in text.utf8.split(separator: 10) where !metadata.add(String(Substring(line))) {
            break
        }
        #expect(metadata.application == name)
    }

    @Test func `A program is named by its executable and its process`() throws {
        let own = AskingProgram(process: getpid())
        let path = try #require(FilePath.target(ofLink: "/proc/self/exe"))
        #expect(own.title == "\(path) (process \(getpid()))")
        #expect(own.isThere)
    }

    // Promise: 20.8
    @Test func `A program that has ended is not there`() throws {
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/bin/sleep")
        program.arguments = ["100"]
        try program.run()
        let asking = AskingProgram(process: program.processIdentifier)
        #expect(asking.isThere)
        kill(program.processIdentifier, SIGKILL)
        program.waitUntilExit()
        #expect(!asking.isThere)
        let unknown = AskingProgram(nil)
        #expect(!unknown.isThere && unknown.title == "A program that has ended")
    }
}

@Suite struct `The policy of the Secret Service` {
    private let own = AskingProgram(process: getpid())
    private let keychain = TestKeychain()

    private func access(_ text: String, _ program: AskingProgram? = nil) throws -> AccessDecision {
        let policy = try AccessPolicy(text)
        let places = PolicyPaths().places(of: policy.paths)
        return AccessDecision(program ?? own, policy, version: 0, places) { _ in }
    }

    @Test func `The first rule for the program and the collection counts`() throws {
        let path = try #require(own.executable?.path)
        let access = try access(
            """
            # a comment

            deny work /usr/bin/other
            ask\twork  \(path)\t
            deny work *
            allow * flatpak:org.example.App
            deny * *\r
            allow login *
            """)
        #expect(access.access(to: "work") == .ask)
        #expect(access.access(to: "login") == .deny)
        #expect(try self.access("deny work *").access(to: "login") == .allow)
        #expect(try self.access("\u{FEFF}deny work *").access(to: "work") == .deny)
    }

    // Promise: 20.7
    @Test func `A sandbox is meant by its name, and by no path`() throws {
        let text = "allow * flatpak:org.example.App\nallow * snap:org.example.App\ndeny * *"
        let flatpak = AskingProgram(flatpak: "org.example.App")
        #expect(try access(text, flatpak).access(to: "login") == .allow)
        #expect(try access(text, AskingProgram(flatpak: "org.example")).access(to: "a") == .deny)
        #expect(try access(text).access(to: "login") == .deny)
        // One that the kernel does not show may be the one that is meant.
        let nobody = AskingProgram(nil)
        let rule = "/usr/bin/program"
        #expect(try access("deny * \(rule)\nallow * *", nobody).access(to: "login") == .deny)
        #expect(try access("allow * \(rule)\ndeny * *", nobody).access(to: "login") == .deny)
        #expect(try access("deny * \(rule)\nallow * *", flatpak).access(to: "login") == .allow)
    }

    // Promise: 20.8
    @Test func `An upgrade of a running program ends what allows it, and not what denies it`()
        throws
    {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent(UUID().uuidString)
        let (path, link) = (folder.path + "/program", folder.path + "/link")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(atPath: "/bin/sleep", toPath: path)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let program = Process()
        program.executableURL = URL(fileURLWithPath: path)
        program.arguments = ["100"]
        try program.run()
        defer { kill(program.processIdentifier, SIGKILL) }
        func access(_ rule: String, _ file: String) throws -> AccessPolicy.Access {
            let asking = AskingProgram(process: program.processIdentifier)
            let others = rule == "allow" ? "deny" : "allow"
            return try self.access("\(rule) * \(file)\n\(others) * *", asking).access(to: "login")
        }
        for file in [path, link] {
            #expect(try access("allow", file) == .allow && access("ask", file) == .ask)
        }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: "/bin/true", toPath: path)
        for file in [path, link] {
            #expect(try access("allow", file) == .deny)
            #expect(try access("deny", file) == .deny && access("ask", file) == .ask)
        }
    }

    @Test(
        arguments: [
            "allow", "allow *", "allow * mail", "permit * *", "log", "log writes", "log reads all",
            "Deny * *", "allow * flatpak", "allow * snap:", "deny default *", "deny log-in *",
            "deny * /usr/bin/program/", "deny * /usr/bin/program # mine",
        ])
    func `A line that is no rule is refused by its number`(_ line: String) {
        #expect {
            try AccessPolicy("deny * *\n" + line)
        } throws: { error in
            (error as? KeychainFailure)?.message.hasPrefix("line 2: ") == true
        }
    }

    @Test func `A path may contain spaces`() throws {
        let policy = try AccessPolicy("deny login /opt/My App/program  \r\nlog reads")
        #expect(policy.rules.map(\.program) == ["/opt/My App/program"] && policy.notesReads)
    }

    // Promise: 20.7
    @Test func `What is asked for opens with a grant, and what is denied does not`() throws {
        let holdings = Holdings(keychain)
        let record = SecretRecord(label: "a", attributes: ["n": "1"], contentType: "text/plain")
        let id = try holdings.items(of: CollectionList.login)
            .store(record, SecretValue(SecretBytes.text("value")), replacing: false).id
        let path = ItemPath(collection: CollectionList.login, id: id).text
        var access = try access("ask login *\ndeny session *")
        var seen = holdings.seen(by: access)
        #expect(try seen.search(["n": "1"]) == ([], [path]))
        #expect(try seen.search([:]) == ([], [path]))
        #expect(throws: KeychainFailure.self) { try seen.items(of: "login").secret(of: id) }
        var (open, prompt) = try seen.unlocking([path])
        #expect(open.isEmpty && prompt?.objects == [path])
        #expect(prompt?.collections == ["login"] && prompt?.isForPasscode == false)
        let period = try keychain.store.keychain.lockPeriod()
        access.granted = ["login": period, "session": period]
        seen = holdings.seen(by: access)
        #expect(try seen.items(of: "login").secret(of: id)?.contentType == "text/plain")
        #expect(try seen.search(["n": "1"]) == ([path], []))
        #expect(throws: KeychainFailure.self) {
            try seen.items(of: "session")
                .store(record, SecretValue(SecretBytes.text("a")), replacing: false)
        }
        (open, prompt) = try seen.unlocking([path, ObjectPath.collection("session").text])
        #expect(open == [path] && prompt == nil)
    }
}
