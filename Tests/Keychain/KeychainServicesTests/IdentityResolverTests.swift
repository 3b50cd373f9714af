// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainStore

@testable import ValetKeychainServices

@Suite struct `Who is asking` {
    static let program = "/opt/mail/bin/mail"
    static let beside = "/opt/mail/bin/mail.entitlements"
    static let ofUser = "/home/u/.config/valet/entitlements/mail.entitlements"
    static let ofMachine = "/etc/valet/entitlements/mail.entitlements"

    @Test func `Without a declaration the executable's name is the identity`() throws {
        let identity = try resolve()
        #expect(identity.caller.applicationIdentifier == "mail")
        #expect(identity.caller.accessGroups == [AccessGroup("mail")])
        #expect(identity.source == .executableName)
    }

    @Test func `A snap is the identity before the executable`() throws {
        let identity = try resolve(environment: ["SNAP_NAME": "post"])
        #expect(identity.caller.applicationIdentifier == "post")
        #expect(identity.source == .snap)
    }

    @Test func `A snap's instance is the identity before the snap`() throws {
        let environment = ["SNAP_NAME": "post", "SNAP_INSTANCE_NAME": "post_2"]
        #expect(try resolve(environment: environment).caller.applicationIdentifier == "post_2")
    }

    @Test func `A Flatpak is the identity before a snap`() throws {
        let identity = try resolve(
            environment: ["SNAP_NAME": "post"],
            files: ["/.flatpak-info": "[Application]\nname=org.example.Mail\n"])
        #expect(identity.caller.applicationIdentifier == "org.example.Mail")
        #expect(identity.source == .flatpak)
    }

    static let bundlePaths = [
        "/opt/mail/bin/Contents/Info.plist", "/opt/mail/bin/Resources/Info.plist",
        "/opt/mail/bin/Support Files/Info.plist", "/opt/mail/bin/Info.plist",
    ]

    @Test(arguments: bundlePaths.indices)
    func `Foundation's first bundle is the identity before the executable`(_ first: Int) throws {
        var files: [String: String] = [:]
        for path in Self.bundlePaths[first...] { files[path] = list(["CFBundleIdentifier": path]) }
        let identity = try resolve(files: files)
        #expect(identity.caller.applicationIdentifier == Self.bundlePaths[first])
        #expect(identity.caller.accessGroups == [AccessGroup(Self.bundlePaths[first])])
        #expect(identity.source == .bundle(path: Self.bundlePaths[first]))
    }

    @Test func `The bundle that contains the program is the identity`() throws {
        let program = "/opt/Mail.app/Contents/Linux/mail"
        let files = [
            "/opt/Mail.app/Contents/Info.plist": list(["CFBundleIdentifier": "outer"]),
            "/opt/Mail.app/Contents/Linux/Contents/Info.plist": list(["CFBundleIdentifier": "x"]),
        ]
        let resolver = IdentityResolver(
            environment: [:], executablePath: program,
            readFile: { (path) throws(KeychainFailure) in files[path].map { Array($0.utf8) } })
        #expect(try resolver.resolve().caller.applicationIdentifier == "outer")
    }

    @Test func `A Flatpak and a snap are the identity before a bundle`() throws {
        let bundle = [Self.bundlePaths[0]: list(["CFBundleIdentifier": "b"])]
        let snap = try resolve(environment: ["SNAP_NAME": "post"], files: bundle)
        #expect(snap.caller.applicationIdentifier == "post")
        let info = ["/.flatpak-info": "[Application]\nname=org.example.Mail\n"]
        let flatpak = try resolve(files: bundle.merging(info) { $1 })
        #expect(flatpak.caller.applicationIdentifier == "org.example.Mail")
    }

    @Test func `A bundle is the identity with the groups of a file without identifier`() throws {
        let identity = try resolve(files: [
            Self.beside: list(["keychain-access-groups": ["g"]]),
            Self.bundlePaths[0]: list(["CFBundleIdentifier": "b"]),
        ])
        #expect(identity.caller.accessGroups == [AccessGroup("g"), AccessGroup("b")])
        #expect(identity.source == .entitlements(path: Self.beside))
    }

    @Test(arguments: [
        ["CFBundleIdentifier": "b", "CFBundleExecutable": "other"], ["CFBundleName": "b"],
    ])
    func `A bundle without identifier, or of another program, is not the identity`(
        _ contents: [String: String]
    ) throws {
        let identity = try resolve(files: [Self.bundlePaths[0]: list(contents)])
        #expect(identity.caller.applicationIdentifier == "mail")
        #expect(identity.source == .executableName)
    }

    @Test func `The bundle of the test program is found`() throws {
        let contents = ["CFBundleIdentifier": "b", "CFBundleExecutable": "mail"]
        let identity = try resolve(files: [Self.bundlePaths[3]: list(contents)])
        #expect(identity.caller.applicationIdentifier == "b")
    }

    @Test(
        arguments: [
            ["CFBundleIdentifier": "$(PRODUCT_BUNDLE_IDENTIFIER)"], ["CFBundleIdentifier": ""],
            ["CFBundleIdentifier": 1], ["CFBundleExecutable": [1]],
        ] as [[String: any Sendable]])
    func `An invalid bundle is an error and not skipped`(_ contents: [String: any Sendable]) {
        let error = #expect(throws: KeychainFailure.self) {
            _ = try resolve(files: [Self.bundlePaths[0]: list(contents)])
        }
        #expect(error?.code == .invalidRequest)
        #expect(error?.path == Self.bundlePaths[0])
    }

    // Promise: 3.1
    @Test func `A bundle that cannot be trusted is an error and not skipped`() {
        let resolver = IdentityResolver(
            environment: ["HOME": "/home/u"], executablePath: Self.program,
            readFile: { (path) throws(KeychainFailure) in
                guard path == Self.bundlePaths[0] else { return nil }
                throw KeychainFailure(.insecureFiles, during: "test", path: path)
            })
        let error = #expect(throws: KeychainFailure.self) { _ = try resolver.resolve() }
        #expect(error?.code == .insecureFiles)
    }

    @Test func `Declared entitlements are the identity before everything else`() throws {
        let identity = try resolve(
            environment: ["SNAP_NAME": "post"],
            files: [Self.beside: list(["application-identifier": "T.mail"])])
        #expect(identity.caller.applicationIdentifier == "T.mail")
        #expect(identity.source == .entitlements(path: Self.beside))
    }

    /// spec/secitem.md §5.3: the first file that exists decides.
    @Test(arguments: [
        ["/e", beside, ofUser, ofMachine], [beside, ofUser, ofMachine], [ofUser, ofMachine],
        [ofMachine],
    ])
    func `The first entitlements file declares the identity`(_ paths: [String]) throws {
        var environment = ["HOME": "/home/u"]
        if paths.first == "/e" { environment["VALET_ENTITLEMENTS"] = "/e" }
        var files: [String: String] = [:]
        for path in paths { files[path] = list(["application-identifier": path]) }
        let identity = try resolve(environment: environment, files: files)
        #expect(identity.caller.applicationIdentifier == paths.first)
    }

    @Test func `Entitlements are found in the configuration folder that the environment names`()
        throws
    {
        let path = "/conf/valet/entitlements/mail.entitlements"
        let environment = ["HOME": "/home/u", "XDG_CONFIG_HOME": "/conf"]
        let files = [path: list(["application-identifier": "x"])]
        let identity = try resolve(environment: environment, files: files)
        #expect(identity.entitlementsPath == path)
        #expect(identity.caller.applicationIdentifier == "x")
    }

    @Test func `Entitlements are not looked for in a relative folder`() throws {
        let identity = try resolve(environment: ["HOME": "/home/u", "XDG_CONFIG_HOME": "conf"])
        #expect(identity.entitlementsPath == Self.ofUser)
    }

    @Test func `Entitlements with groups alone leave the name to the next source`() throws {
        let files = [Self.beside: list(["keychain-access-groups": ["g"]])]
        let caller = try resolve(files: files).caller
        #expect(caller.applicationIdentifier == "mail")
        #expect(caller.accessGroups == [AccessGroup("g"), AccessGroup("mail")])
    }

    @Test(arguments: ["/missing", "relative"])
    func `A variable that names no entitlements file is an error`(_ path: String) {
        let error = #expect(throws: KeychainFailure.self) {
            _ = try resolve(environment: ["VALET_ENTITLEMENTS": path])
        }
        #expect(error?.code == .invalidRequest)
        #expect(error?.path == path)
    }

    // Promise: 3.1
    @Test func `A refused entitlements file is an error`() {
        let resolver = IdentityResolver(
            environment: [:], executablePath: Self.program,
            readFile: { (path) throws(KeychainFailure) in
                throw KeychainFailure(.insecureFiles, during: "test", path: path)
            })
        let error = #expect(throws: KeychainFailure.self) { _ = try resolver.resolve() }
        #expect(error?.code == .insecureFiles)
    }

    @Test func `Without a program there is no identity`() {
        let resolver = IdentityResolver(
            environment: [:], executablePath: nil,
            readFile: { (_) throws(KeychainFailure) in nil })
        let error = #expect(throws: KeychainFailure.self) { _ = try resolver.resolve() }
        #expect(error?.code == .invalidRequest)
    }

    @Test(arguments: [
        ("/bin/a", "/bin/a"), ("/bin/a (deleted)", "/bin/a"), ("/bin/(deleted)", "/bin/(deleted)"),
    ])
    func `A program that was replaced keeps its identity`(_ link: String, _ path: String) {
        #expect(IdentityResolver.withoutDeletionMark(link) == path)
    }

    @Test func `The test program has its own identity`() throws {
        let path = try #require(IdentityResolver.executablePath())
        #expect(FileManager.default.fileExists(atPath: path))
    }

    private func resolve(
        environment: [String: String] = [:], files: [String: String] = [:]
    ) throws -> ApplicationIdentity {
        let resolver = IdentityResolver(
            environment: environment, executablePath: Self.program,
            readFile: { (path) throws(KeychainFailure) in files[path].map { Array($0.utf8) } })
        return try resolver.resolve()
    }

    private func list(_ contents: [String: Any]) -> String {
        let data = try? PropertyListSerialization.data(
            fromPropertyList: contents, format: .xml, options: 0)
        return data.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

@Suite struct `A group that is missing` {
    @Test(
        arguments: [
            (
                ApplicationIdentity.Source.executableName, "/a",
                "call `ValetKeychain.configure` with the group, or create /a, a property list "
                    + "that has it under keychain-access-groups"
            ),
            (.entitlements(path: "/b"), "/b", "list the group under keychain-access-groups in /b"),
            (.configured, nil, "call `ValetKeychain.configure` with the group"),
        ] as [(ApplicationIdentity.Source, String?, String)])
    func `A missing access group is reported with what helps`(
        _ source: ApplicationIdentity.Source, _ path: String?, _ hint: String
    ) {
        let identity = ApplicationIdentity(
            caller: Caller(applicationIdentifier: "mail"), source: source, entitlementsPath: path)
        #expect(identity.groupAdvice.text(naming: \.swiftName) == hint)
    }
}
