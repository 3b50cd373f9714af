// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing
import ValetTestSupport

@testable import ValetSecretService

/// The schema `org.freedesktop.Secret.Generic` and none are the same; another one is not.
@Suite struct `The general schema` {
    private let keychain = TestKeychain()
    private let holdings: Holdings

    private static let schema = "org.freedesktop.Secret.Generic"
    private static let general: [LookupName: String] = ["xdg:schema": schema]

    init() { holdings = Holdings(keychain) }

    private static func named(_ schema: String?, _ value: String = "1") -> [LookupName: String] {
        var attributes: [LookupName: String] = ["n": value]
        attributes["xdg:schema"] = schema
        return attributes
    }

    private func store(
        _ attributes: [LookupName: String], _ collection: String, replacing: Bool = false
    ) throws -> String {
        let record = SecretRecord(label: "l", attributes: attributes, contentType: "text/plain")
        return try holdings.items(of: collection)
            .store(record, SecretValue(SecretBytes.text("v")), replacing: replacing).id
    }

    private func found(_ attributes: [LookupName: String], _ collection: String) throws -> [String]
    {
        let ids = try holdings.items(of: collection).ids(having: attributes)
        let (unlocked, locked) = try holdings.search(attributes)
        let paths = ids.map { ItemPath(collection: collection, id: $0).text }
        // The service finds what the collection does.
        #expect(unlocked + locked == paths)
        return ids
    }

    @Test(arguments: [CollectionList.login, CollectionList.session])
    func `A search with it finds items that have it or none, those that have it first`(
        _ collection: String
    ) throws {
        let none = try store(Self.named(nil), collection)
        let named = try store(Self.named(Self.schema), collection)
        let other = try store(Self.named("com.example.Other"), collection)
        let empty = try store(Self.named(""), collection)
        let wanted = Self.named(Self.schema)
        #expect(Set(try found(wanted, collection)) == [named, none])
        if collection == CollectionList.login {
            #expect(try found(wanted, collection) == [named, none])
        }
        #expect(try Set(found(Self.general, collection)) == [named, none])
        #expect(try Set(found(Self.named(nil), collection)) == [named, none, other, empty])
        #expect(try found(Self.named("com.example.Other"), collection) == [other])
        #expect(try found(Self.named(""), collection) == [empty])
        #expect(try found(wanted.merging(["m": "2"]) { $1 }, collection).isEmpty)
    }

    @Test func `A locked keychain finds items with it, and those whose other attributes are named`()
        throws
    {
        try keychain.setPasscode()
        let login = CollectionList.login
        let none = try store(Self.named(nil), login)
        let more = try store(["n": "1", "m": "2"], login)
        let named = try store(
            Self.general.merging(["n": "1", "m": "2"]) { $1 }, login)
        _ = try store(Self.named("com.example.Other"), login)
        try keychain.store.keychain.lock()
        #expect(
            try found(Self.named(Self.schema), login) == [named, none])
        #expect(
            try found(Self.general.merging(["n": "1", "m": "2"]) { $1 }, login) == [named, more])
        #expect(try found(Self.general, login) == [named])
    }

    @Test(arguments: [CollectionList.login, CollectionList.session])
    func `An item with it takes the place of one without, and the other way round`(
        _ collection: String
    ) throws {
        let general = Self.named(Self.schema)
        let first = try store(Self.named(nil), collection)
        #expect(try store(general, collection, replacing: true) == first)
        let items = holdings.items(of: collection)
        #expect(try items.record(of: first)?.attributes == general)
        // It keeps the schema, so that a locked keychain finds it.
        #expect(try store(Self.named(nil), collection, replacing: true) == first)
        #expect(try items.record(of: first)?.attributes == general)
        for schema in ["com.example.Other", ""] {
            #expect(try store(Self.named(schema), collection, replacing: true) != first)
        }
        #expect(try items.ids(having: nil).count == 3)
        // Without other attributes.
        let bare = try store([:], collection)
        #expect(try store(Self.general, collection, replacing: true) == bare)
        #expect(try items.ids(having: nil).count == 4)
    }

    @Test func `Of two items that are there already, the one with the same schema is replaced`()
        throws
    {
        let login = CollectionList.login
        let none = try store(Self.named(nil), login)
        let named = try store(Self.named(Self.schema), login)
        #expect(
            try store(Self.named(Self.schema), login, replacing: true) == named)
        #expect(try store(Self.named(nil), login, replacing: true) == none)
        #expect(try holdings.items(of: login).ids(having: nil).count == 2)
    }

    @Test(arguments: [CollectionList.login, CollectionList.session])
    func `An item tells its attributes as they were stored`(_ collection: String) throws {
        for (value, schema) in [("1", nil), ("2", Self.schema), ("3", "")] {
            let id = try store(Self.named(schema, value), collection)
            #expect(
                try holdings.items(of: collection).record(of: id)?.attributes
                    == Self.named(schema, value))
        }
    }
}
