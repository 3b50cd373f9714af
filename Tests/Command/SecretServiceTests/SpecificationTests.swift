// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing
import ValetTestSupport

@testable import ValetSecretService

@Suite struct `Properties of a new object` {
    /// Whether a new object of that interface takes these properties, and what it then has.
    private func properties(
        _ interface: Interface, _ given: [(String, PropertyValue)]
    ) -> NewProperties? {
        var properties = NewProperties()
        for (name, value) in given {
            guard properties.set(name, of: interface, value) else { return nil }
        }
        return properties
    }

    private static func name(_ interface: Interface, _ property: String) -> String {
        interface.rawValue + "." + property
    }

    @Test func `An item takes label, attributes and the type of older drafts`() {
        let (label, type) = (Self.name(.item, "Label"), Self.name(.item, "Type"))
        let attributes = Self.name(.item, "Attributes")
        let bare = properties(.item, [])
        #expect(bare?.label == "" && bare?.attributes == [:])
        let usual = properties(
            .item, [(label, .text("a label")), (attributes, .attributes(["n": "1"]))])
        #expect(usual?.label == "a label" && usual?.attributes == ["n": "1"])
        let typed = properties(
            .item, [(type, .text("com.example")), (attributes, .attributes(["n": "1"]))])
        #expect(typed?.attributes == ["n": "1", "xdg:schema": "com.example"])
        let own: [LookupName: String] = ["n": "1", "xdg:schema": "own"]
        let both = properties(
            .item, [(type, .text("com.example")), (attributes, .attributes(own))])
        #expect(both?.attributes == own)
    }

    @Test func `A collection takes a label alone`() {
        let label = Self.name(.collection, "Label")
        #expect(properties(.collection, [(label, .text("c"))])?.label == "c")
        for (property, value) in [
            ("Attributes", PropertyValue.attributes([:])), ("Type", .text("t")),
            ("Locked", .flag(true)), ("Items", .paths([])),
        ] {
            let name = Self.name(.collection, property)
            #expect(properties(.collection, [(name, value)]) == nil, "\(property)")
        }
    }

    @Test func `What an item has not, or of another type, is refused`() {
        for (name, value) in [
            (Self.name(.item, "Label"), PropertyValue.attributes([:])),
            (Self.name(.item, "Label"), .flag(true)), (Self.name(.item, "Type"), .time(1)),
            (Self.name(.item, "Attributes"), .text("n=1")),
            (Self.name(.item, "Attributes"), .paths([])),
            (Self.name(.item, "Locked"), .flag(true)), (Self.name(.item, "Created"), .time(1)),
            (Self.name(.item, "Nothing"), .text("")), (Self.name(.item, "label"), .text("")),
            (Self.name(.collection, "Label"), .text("")), ("Label", .text("")), ("", .text("")),
            ("org.freedesktop.Secret.ItemLabel", .text("")),
        ] {
            #expect(properties(.item, [(name, value)]) == nil, "\(name)")
        }
    }
}

@Suite struct `What introspection names` {
    private let keychain = TestKeychain()
    private let holdings: Holdings

    init() { holdings = Holdings(keychain) }

    private func store(in collection: String) throws -> String {
        let record = SecretRecord(label: "l", attributes: [:], contentType: "text/plain")
        return try holdings.items(of: collection)
            .store(record, SecretValue(SecretBytes.text("v")), replacing: false).id
    }

    @Test func `The service has collections, aliases, and what belongs to the client`() throws {
        let name = try holdings.makeCollection(label: "other", alias: "mine")
        try holdings.list.setAlias("no part of a path", to: name)
        try holdings.list.setAlias("gone", to: "nothing")
        #expect(
            try holdings.names(below: .service, [.session(3), .prompt(4)]) == [
                "collection/login", "collection/other", "collection/session", "aliases/default",
                "aliases/login", "aliases/mine", "session/3", "prompt/4",
            ])
    }

    @Test func `A collection has its items, also locked, and an alias has none`() throws {
        let login = [try store(in: CollectionList.login), try store(in: CollectionList.login)]
        let memory = try store(in: CollectionList.session)
        func check() throws {
            #expect(try holdings.names(below: .collection("login"), []) == login)
            #expect(try holdings.names(below: .alias("default"), []).isEmpty)
            #expect(try holdings.names(below: .collection("session"), []) == [memory])
            #expect(try holdings.names(below: .alias("none"), []).isEmpty)
            let item = ItemPath(collection: "login", id: login[0])
            #expect(try holdings.names(below: .item(item), []).isEmpty)
        }
        try check()
        try keychain.setPasscode()
        try keychain.store.keychain.lock()
        try check()
    }

    @Test func `Paths between objects name those below`() {
        let paths = ["/org/a/b", "/org/a/c/d", "/org/ab", "/org/a"]
        #expect(ObjectPath.names(paths, below: "/org/a") == ["b", "c/d"])
        #expect(ObjectPath.names(paths, below: "/") == paths.map { String($0.dropFirst()) })
        for path in ["/", "/org", "/org/freedesktop"] { #expect(ObjectPath.isAboveRoot(path)) }
        for path in ["", "/or", "/org/", ObjectPath.root, "\(ObjectPath.root)/collection"] {
            #expect(!ObjectPath.isAboveRoot(path), "\(path)")
        }
    }
}

@Suite struct `Dates of collections` {
    private let keychain = TestKeychain()

    private func dates(_ name: String, _ holdings: Holdings) throws -> (UInt64, UInt64) {
        let found = try holdings.properties(of: .collection(name), only: "Created")
        func time(_ name: String) -> UInt64 {
            guard case .time(let time)? = found.first(where: { $0.name == name })?.value else {
                return 0
            }
            return time
        }
        return (time("Created"), time("Modified"))
    }

    @Test func `No collection is without dates, and none was changed before it was made`() throws {
        let holdings = Holdings(keychain)
        // Before there is a keychain.
        let (before, _) = try dates("login", holdings)
        #expect(before == holdings.started && before > 0)
        let name = try holdings.makeCollection(label: "other", alias: "")
        for name in ["login", "session", name] {
            let (created, modified) = try dates(name, holdings)
            #expect(created > 0 && modified >= created, "\(name)")
        }
        let (made, _) = try dates("login", holdings)
        try holdings.list.setLabel("mine", of: "login")
        let (created, modified) = try dates("login", holdings)
        #expect(created == made && modified >= made)
    }
}
