// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing

@testable import ValetCLI

@Suite struct `valet list` {
    private let bench = Bench.withTwoSecrets

    @Test func `valet list shows all items of the application, sorted, without values`() {
        bench.run("set", "z", "--id=backup", "--cloud", input: [1])
        bench.run("list")
        #expect(
            bench.console.outputText == """
                NAME  OWNER    KIND         ACCESSIBILITY  SIZE  MODIFIED
                z     backup   cloud-valet  when-unlocked  1     2001-01-01T00:00:00Z
                a     default  valet        when-unlocked  3     2001-01-01T00:00:00Z
                b     default  valet        when-unlocked  3     2001-01-01T00:00:00Z

                """)
    }

    @Test func `valet list --tree shows the parts of names below their owner`() throws {
        for key in ["b/c/d", "b/c/e", "b/f", "b-g", "x//y", "tick\u{1B}/z", "b"] {
            bench.run("set", key, input: [1])
        }
        bench.run("set", "b/c/d", "--id=other", input: [1])
        bench.run("set", "b/h", "--app=mail", input: [1])
        #expect(bench.run("list", "--tree") == .success)
        #expect(
            bench.console.outputText == """
                valet 'default'
                  a
                  b
                  b-g
                  b/
                    c/
                      d
                      e
                    f
                  tick\\u{1b}/
                    z
                  x/
                    /
                      y
                valet 'other'
                  b/
                    c/
                      d

                """)
        bench.run("list", "--tree", "--all", "b/*")
        #expect(
            bench.console.outputText.hasPrefix(
                "mail, valet 'default'\n  b/\n    h\nvalet, valet 'default'\n  b/\n    c/\n"))
        for option in ["--json", "--names", "--null", "--sort=name"] {
            #expect(bench.run("list", "--tree", option) == .usage)
        }
    }

    @Test(arguments: [["--id=other"], ["--cloud"], ["--accessibility=after-first-unlock"]])
    func `valet list shows one valet if options choose it`(_ options: [String]) {
        bench.run("set", "x", options[0], input: [1])
        bench.run("list", options[0])
        #expect(bench.console.outputText.split(separator: "\n").count == 2)
        #expect(bench.console.outputText.contains("\nx "))
    }

    @Test func `valet list shows internet passwords and passwords of other programs`() throws {
        try bench.add(
            NewItem(
                .genericPassword,
                attributes: [.service: .text("mail"), .account: .bytes([1, 0xAB])]))
        bench.run("list")
        #expect(bench.console.outputText.contains("\n0x01ab  mail     generic  "))
    }

    @Test func `valet list shows which items require the user`() throws {
        let item = { (account: String, constraints: AccessControl.Constraints) throws in
            var item = NewItem(
                .genericPassword,
                attributes: [.service: .text("mail"), .account: .text(account)])
            item.accessControl = try AccessControl(.afterFirstUnlock, constraints)
            return item
        }
        let bench = try Bench.withPasscode()
        bench.run("remove", "secret", "--yes")
        bench.run("set", "a", input: [1])
        try bench.add(try item("x", .userPresence))
        try bench.add(try item("y", [.biometryAny, .devicePasscode, .or]))
        try bench.add(try item("z", []))
        bench.run("list")
        let text = bench.console.outputText
        #expect(text.contains("\nx     mail     generic  after-first-unlock (user-presence) "))
        #expect(text.contains("after-first-unlock (biometry-any or device-passcode) "))
        #expect(text.contains("\nz     mail     generic  after-first-unlock  "))
        bench.run("list", "--json")
        #expect(bench.console.outputText.contains(#""requires":"user-presence""#))
    }

    @Test(
        arguments: [
            ([], nil), (.biometryCurrentSet, "biometry-current-set"),
            ([.devicePasscode, .applicationPassword], "device-passcode and application-password"),
            ([.devicePasscode, .companion, .or], "device-passcode or companion"),
        ] as [(AccessControl.Constraints, String?)])
    func `valet list has a word for everything that reading may require`(
        _ constraints: AccessControl.Constraints, _ words: String?
    ) throws {
        #expect(try AccessControl(.afterFirstUnlock, constraints).requirement == words)
    }

    @Test func `valet list leaves out the canary`() {
        bench.run("set", ServiceName.canaryAccount, input: [1])
        bench.run("list")
        #expect(!bench.console.outputText.contains("VAL_"))
    }

    @Test func `valet list shows a key that looks like the canary's`() {
        bench.run("set", "VAL_\u{212A}eychainCanaryUsername", input: [1])
        bench.run("list")
        #expect(bench.console.outputText.contains("eychainCanaryUsername"))
    }

    // Promise: 5.6
    @Test func `valet list escapes characters that a terminal would act on`() {
        bench.run("set", "x\n\u{1B}]0;\u{202E}", input: [1])
        bench.run("list")
        #expect(bench.console.outputText.contains(#"x\n\u{1b}]0;\u{202e}  default"#))
    }

    @Test func `valet list escapes invisible characters`() {
        bench.run("set", "x\u{AD}\u{61C}\u{E0041}", input: [1])
        bench.run("list")
        #expect(bench.console.outputText.contains(#"x\u{ad}\u{61c}\u{e0041}  default"#))
        bench.run("list", "--json")
        #expect(bench.console.outputText.contains(#""name":"x\u00ad\u061c\udb40\udc41""#))
    }

    @Test func `valet list shows only the header if there is nothing`() {
        #expect(bench.run("list", "--id=empty") == .success)
        #expect(
            bench.console.outputText == "NAME  OWNER  KIND  ACCESSIBILITY  SIZE  MODIFIED\n")
    }

    @Test func `valet list writes a JSON object if asked to`() {
        bench.run("remove", "b", "--yes")
        bench.run("list", "--json")
        let id = bench.items.map { Hexadecimal.text($0.reference.itemID) }.joined()
        #expect(
            bench.console.outputText == """
                {"items":[{"name":"a","owner":"default","kind":"valet","group":"valet",\
                "label":"","protocol":null,"port":null,"path":null,"authentication":null,\
                "realm":null,\
                "accessibility":"when-unlocked","requires":null,"cloud":false,"byteCount":3,\
                "modified":"2001-01-01T00:00:00Z","id":"\(id)"}]}

                """)
        #expect(bench.run("get", "--item", id) == .success && bench.console.outputText == "one")
    }

    @Test func `valet list shows the other items if one is damaged, and reports it`() throws {
        try bench.damageItems()
        bench.run("set", "c", input: [1])
        #expect(bench.run("list") == .damaged)
        #expect(bench.console.outputText.contains("\nc "))
        #expect(!bench.console.outputText.contains("\na "))
        let notes = bench.console.notes
        #expect(notes.count == 2)
        #expect(notes[0].hasPrefix("valet: error: the list is incomplete: could not "))
        #expect(notes[1].hasPrefix("valet: hint: "))
    }
}

@Suite struct `What programs of the desktop store` {
    private let bench = Bench.withTwoSecrets

    /// Stores what a program has labelled.
    private func add(_ label: String, name: String, in service: String) throws {
        let item = NewItem(
            .genericPassword,
            attributes: [
                .service: .text(service), .account: .text(name), .label: .text(label),
            ],
            accessGroup: DesktopItem.group)
        let caller = Caller(applicationIdentifier: "serve", accessGroups: [DesktopItem.group])
        try KeychainSession(bench.store, caller)
            .add(item, value: SecretValue(copying: ([1] as [UInt8]).span))
    }

    @Test func `valet list shows its label before its name, and sorts by it`() throws {
        try add("Mail of anna", name: "ff", in: "collection/login")
        try add("Web/site", name: "00", in: "collection/login")
        try add("", name: "77", in: "collection/login")
        // An alias has a name, and the name of a collection as its label.
        try add("login", name: "default", in: "aliases")
        bench.run("list", "--group", DesktopItem.group.rawValue)
        let lines = bench.console.outputText.split(separator: "\n").dropFirst()
        #expect(
            lines.map { $0.split(separator: "  ")[0] }
                == ["default", "77", "Mail of anna (ff)", "Web/site (00)"])
        bench.run("list", "--all", "--tree", "*site")
        #expect(bench.console.outputText.hasSuffix("\n  Web/site (00)\n"))
        bench.run("list", "--all", "--json", "mail of")
        #expect(bench.console.outputText.contains(#""name":"ff","owner":"collection/login""#))
        #expect(bench.console.outputText.contains(#""label":"Mail of anna""#))
        bench.run("list", "--all", "--names", "mail of")
        #expect(bench.console.outputText == "ff\n")
    }

    @Test(arguments: ["mail of", "MAIL*anna", "ff", "collection/l"])
    func `valet list finds it by label, name and collection`(_ pattern: String) throws {
        try add("Mail of anna", name: "ff", in: "collection/login")
        for words in [["list", "--all", pattern], ["search", pattern]] {
            bench.run(words)
            #expect(bench.console.outputText.contains("Mail of anna (ff)  collection/login  "))
        }
        bench.run("list", "--all", "of ben")
        #expect(bench.console.outputText.split(separator: "\n").count == 1)
    }

    @Test func `A label that a terminal would act on is escaped`() throws {
        try add("x\n\u{1B}]0;", name: "ff", in: "collection/login")
        bench.run("list", "--all", "ff")
        #expect(bench.console.outputText.contains(#"x\n\u{1b}]0; (ff)"#))
    }

    @Test func `The label of any other item is not shown`() throws {
        try bench.add(
            NewItem(
                .genericPassword,
                attributes: [
                    .service: .text("collection/login"), .account: .text("a"), .label: .text("b"),
                ]))
        bench.run("list")
        #expect(bench.console.outputText.contains("\na     collection/login  "))
    }
}

@Suite struct `The owner of a listed item` {
    private typealias Expected = (service: String, kind: ItemOwner.Kind, name: String)

    @Test(arguments: ProtectionClass.offered)
    func `The owner of an item is the identifier of its valet`(_ accessibility: ProtectionClass) {
        let scope = Scope(identifier: "a_Accessible_b", accessibility: accessibility)
        let owner = ItemOwner(service: scope.service.service, group: AccessGroup("valet"))
        #expect(owner == ItemOwner(kind: .valet, name: "a_Accessible_b"))
    }

    @Test(arguments: [nil, "x_y"])
    func `The owner of a group's item is the identifier of the group's valet`(_ identifier: String?)
    {
        let group = AccessGroup("TEAM.shared_group")
        let scope = Scope(requester: Requester(group: group), identifier: identifier, isCloud: true)
        let owner = ItemOwner(service: scope.service.service, group: group)
        #expect(owner == ItemOwner(kind: .cloudValet, name: identifier ?? ""))
    }

    @Test func `The owner of an item with an access control is the identifier of its valet`() {
        let service = ServiceName.standard(
            .secureEnclaveValet, identifier: "e",
            accessibility: "AccessibleWhenPasscodeSetThisDeviceOnly_AccessControlDevicePasscode")
        let owner = ItemOwner(service: service, group: AccessGroup("valet"))
        #expect(owner == ItemOwner(kind: .enclaveValet, name: "e"))
    }

    @Test(arguments: ["", "mail", "VAL_VALValet_initWithIdentifier:accessibility:_x"])
    func `The owner of any other item is its service`(_ service: String) {
        let owner = ItemOwner(service: service, group: AccessGroup("valet"))
        #expect(owner == ItemOwner(kind: .generic, name: service))
    }
}
