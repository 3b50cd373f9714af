// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainStore

@testable import ValetKeychainServices

@Suite struct `An application's entitlements` {
    /// spec/secitem.md §5.1.
    @Test func `Entitlements put the access groups into their order`() throws {
        let entitlements = try parse(
            """
            <key>com.apple.security.application-groups</key>
            <array><string>app</string></array>
            <key>application-identifier</key><string>T.id</string>
            <key>com.apple.developer.associated-application-identifier</key>
            <array><string>other</string></array>
            <key>keychain-access-groups</key>
            <array><string>com.apple.token</string><string>b</string><string>a</string></array>
            """)
        let groups = entitlements.accessGroups(applicationIdentifier: "T.id")
        #expect(groups.map(\.rawValue) == ["b", "a", "other", "T.id", "app", "com.apple.token"])
    }

    @Test func `Entitlements name each access group once`() throws {
        let entitlements = try parse(
            """
            <key>keychain-access-groups</key>
            <array><string>a</string><string>T.id</string><string>a</string></array>
            """)
        let groups = entitlements.accessGroups(applicationIdentifier: "T.id")
        #expect(groups.map(\.rawValue) == ["a", "T.id"])
    }

    @Test func `Access groups that look alike are two groups`() {
        #expect(Entitlements.ordered(["é", "e\u{301}", "é"]).count == 2)
    }

    @Test func `Entitlements may have the identifier under its name on macOS`() throws {
        let entitlements = try parse(
            "<key>com.apple.application-identifier</key><string>T.id</string>")
        #expect(entitlements.applicationIdentifier == "T.id")
    }

    @Test func `Entitlements may have other keys`() throws {
        let entitlements = try parse("<key>com.apple.security.app-sandbox</key><true/>")
        #expect(entitlements == Entitlements())
    }

    @Test(arguments: [
        ("<key>application-identifier</key><integer>1</integer>", "application-identifier"),
        ("<key>keychain-access-groups</key><string>a</string>", "keychain-access-groups"),
        ("<key>keychain-access-groups</key><array><true/></array>", "keychain-access-groups"),
        ("<key>application-identifier</key><string></string>", "empty"),
        ("<key>keychain-access-groups</key><array><string>$(X)a</string></array>", "variable"),
        ("<key>application-identifier", "property list"),
    ])
    func `Invalid entitlements are refused with the reason`(_ body: String, _ reason: String) {
        let error = #expect(throws: KeychainFailure.self) { _ = try parse(body) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.path == "/e")
        #expect(error?.message.contains(reason) == true)
    }

    @Test(arguments: ["", "x", "bplist00", "<plist><array/></plist>"])
    func `Entitlements are a property list`(_ text: String) {
        let error = #expect(throws: KeychainFailure.self) {
            _ = try Entitlements(propertyList: Array(text.utf8), path: "/e")
        }
        #expect(error?.code == .invalidRequest)
    }

    private static let depth = 10_000

    private static func nested(_ open: String, _ close: String) -> Data {
        Data((String(repeating: open, count: depth) + String(repeating: close, count: depth)).utf8)
    }

    private static let deep: [String: Data] = [
        "xml": Data("<plist>".utf8) + nested("<array>", "</array>") + Data("</plist>".utf8),
        "dictionaries": nested("<dict><key>a</key>", "</dict>"),
    ]

    @Test(arguments: deep.keys.sorted())
    func `Entitlements that are nested too deeply to decode are refused`(
        _ form: String
    ) throws {
        let bytes = try #require(Self.deep[form])
        let error = #expect(throws: KeychainFailure.self) {
            _ = try Entitlements(propertyList: Array(bytes), path: "/e")
        }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("nested too deeply") == true)
    }

    @Test func `Entitlements in a binary property list are refused with what to do`() throws {
        let bytes = try PropertyListSerialization.data(
            fromPropertyList: ["application-identifier": "app"], format: .binary, options: 0)
        let error = #expect(throws: KeychainFailure.self) {
            _ = try Entitlements(propertyList: Array(bytes), path: "/e")
        }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("plistutil") == true)
    }

    @Test func `Entitlements are read in the form that writers give them`() throws {
        let groups = (0..<100).map { "group \($0)" }
        let bytes = try PropertyListSerialization.data(
            fromPropertyList: [
                "application-identifier": "app", "keychain-access-groups": groups,
                "other": ["a": ["b": [1, 2, 3], "c": ["d"]]],
            ], format: .xml, options: 0)
        let found = try Entitlements(propertyList: Array(bytes), path: "/e")
        #expect(found.applicationIdentifier == "app")
        #expect(found.keychainGroups == groups)
    }

    private func parse(_ body: String) throws -> Entitlements {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0"><dict>\(body)</dict></plist>
            """
        return try Entitlements(propertyList: Array(text.utf8), path: "/e")
    }
}

@Suite struct `The information of a Flatpak` {
    @Test(
        arguments: [
            ("[Application]\nname=a.b\n", "a.b"), ("[Other]\nname=x\n[Application]\nname=a\n", "a"),
            ("[Application]\nruntime=r\nname = a\n", "a"), ("[Application]\nname=\n", nil),
            ("[Application]\n[Other]\nname=a\n", nil), ("", nil), ("name=a", nil),
        ] as [(String, String?)])
    func `The information of a Flatpak names the application`(_ text: String, _ name: String?) {
        #expect(FlatpakInfo.applicationName(in: text) == name)
    }
}

@Suite struct `An identity set in code` {
    @Test func `An identity set in code may change until it is used`() throws {
        var state = IdentityState.unknown
        try state.configure(identity("a"))
        try state.configure(identity("b"))
        #expect(state == .configured(identity("b")))
    }

    @Test func `An identity set in code may be set again to the same while it is used`() throws {
        var state = IdentityState.inUse(identity("a"))
        try state.configure(identity("a"))
        #expect(state == .inUse(identity("a")))
    }

    @Test func `An identity set in code cannot change while it is used`() {
        var state = IdentityState.inUse(identity("a"))
        let error = #expect(throws: KeychainFailure.self) { try state.configure(identity("b")) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message == "the keychain is in use as a")
    }

    @Test(arguments: [("", []), ("a", [""])] as [(String, [String])])
    func `An identity set in code has no empty name`(_ identifier: String, _ groups: [String]) {
        let error = #expect(throws: KeychainFailure.self) {
            try ValetKeychain.configure(applicationIdentifier: identifier, accessGroups: groups)
        }
        #expect(error?.code == .invalidRequest)
    }

    private func identity(_ name: String) -> ApplicationIdentity {
        ApplicationIdentity(
            caller: Caller(applicationIdentifier: name), source: .configured,
            entitlementsPath: nil)
    }
}
