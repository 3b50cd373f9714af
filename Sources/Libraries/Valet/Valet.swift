// SPDX-License-Identifier: Apache-2.0

// `Valet` stores secrets by key in sandboxes that an application names. Here are its calls: those
// that make valets, then those that store, read, find and remove values, one or several at a time.
// The class is declared in Valet+ObjectiveC.swift.

public import Foundation
internal import ValetKeychainModel

extension Valet {
    /// Returns the valet of that identifier, which this application alone can use.
    public class func valet(with identifier: Identifier, accessibility: Accessibility) -> Valet {
        shared(Configuration(.standard(identifier), accessibility))
    }

    /// Returns the valet of that identifier whose items iCloud synchronizes on Apple's systems.
    ///
    /// On Linux the devices of a circle share the items: see <doc:SharingBetweenDevices>. Without a
    /// circle, the items stay on this machine.
    public class func iCloudValet(
        with identifier: Identifier, accessibility: CloudAccessibility
    ) -> Valet {
        shared(Configuration(cloud: .standard(identifier), accessibility))
    }

    /// Returns a valet of an access group, which every application of the group can use.
    ///
    /// A group can have several valets, each with an `identifier` of its own, and one without.
    public class func sharedGroupValet(
        with groupIdentifier: SharedGroupIdentifier, identifier: Identifier? = nil,
        accessibility: Accessibility
    ) -> Valet {
        shared(Configuration(.sharedGroup(groupIdentifier, identifier), accessibility))
    }

    /// Returns a valet of an access group whose items iCloud synchronizes on Apple's systems.
    ///
    /// A group can have several valets, each with an `identifier` of its own, and one without.
    ///
    /// On Linux the devices of a circle share the items: see <doc:SharingBetweenDevices>. Without a
    /// circle, the items stay on this machine.
    public class func iCloudSharedGroupValet(
        with groupIdentifier: SharedGroupIdentifier, identifier: Identifier? = nil,
        accessibility: CloudAccessibility
    ) -> Valet {
        shared(Configuration(cloud: .sharedGroup(groupIdentifier, identifier), accessibility))
    }

    /// Returns the valet whose items have exactly `identifier` as their service.
    ///
    /// Valets of one identifier share their keys, whatever their accessibilities: a key can be in
    /// one of them only. ``migrateObjects(from:removeOnCompletion:)`` moves all keys from one to
    /// another.
    public class func valet(
        withExplicitlySet identifier: Identifier, accessibility: Accessibility
    ) -> Valet {
        shared(Configuration(.explicit(identifier), accessibility))
    }

    /// Returns the valet whose items have exactly `identifier` as their service, and are
    /// synchronized by iCloud on Apple's systems.
    ///
    /// On Linux the devices of a circle share the items: see <doc:SharingBetweenDevices>. Without a
    /// circle, the items stay on this machine.
    public class func iCloudValet(
        withExplicitlySet identifier: Identifier, accessibility: CloudAccessibility
    ) -> Valet {
        shared(Configuration(cloud: .explicit(identifier), accessibility))
    }

    /// Returns the valet of an access group whose items have the group's name, without its prefix,
    /// as their service.
    public class func sharedGroupValet(
        withExplicitlySet identifier: SharedGroupIdentifier, accessibility: Accessibility
    ) -> Valet {
        shared(Configuration(.explicitSharedGroup(identifier), accessibility))
    }

    /// Returns the valet of an access group whose items have the group's name, without its prefix,
    /// as their service, and are synchronized by iCloud on Apple's systems.
    ///
    /// On Linux the devices of a circle share the items: see <doc:SharingBetweenDevices>. Without a
    /// circle, the items stay on this machine.
    public class func iCloudSharedGroupValet(
        withExplicitlySet identifier: SharedGroupIdentifier, accessibility: CloudAccessibility
    ) -> Valet {
        shared(Configuration(cloud: .explicitSharedGroup(identifier), accessibility))
    }

    private class func shared(_ configuration: Configuration) -> Valet {
        Platform.registry.valet(configuration) {
            Valet(configuration, backend: Platform.backend)
        }
    }

    /// Stores `object` under `key` and replaces what was stored there. On return it is on disk.
    ///
    /// - Throws: `emptyKey`, `emptyValue`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func setObject(_ object: Data, forKey key: String) throws(KeychainError) {
        try check(key)
        guard !object.isEmpty else { throw .emptyValue }
        try translating { () throws(KeychainFailure) in
            try backend.set(sandbox.item(key), value: object, nil)
        }
    }

    /// Returns the bytes that are stored under `key`.
    ///
    /// - Throws: `emptyKey`, `itemNotFound`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func object(forKey key: String) throws(KeychainError) -> Data {
        try check(key)
        do throws(KeychainFailure) {
            guard let value = try backend.value(of: PasswordName(key, in: sandbox), nil) else {
                throw KeychainFailure(.itemNotFound, during: "read an item")
            }
            return value
        } catch {
            if Platform.keepsLastFailure, error.code == .itemNotFound {
                Platform.keep(explained(error, missing: key))
            }
            throw KeychainError(error)
        }
    }

    /// Stores the UTF-8 of `string` under `key` and replaces what was stored there. On return it
    /// is on disk.
    ///
    /// - Throws: `emptyKey`, `emptyValue`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func setString(_ string: String, forKey key: String) throws(KeychainError) {
        try setObject(Data(string.utf8), forKey: key)
    }

    /// Returns the text that is stored under `key`.
    ///
    /// - Throws: `itemNotFound`, also if the stored bytes are not UTF-8; `emptyKey`,
    ///   `missingEntitlement`, `couldNotAccessKeychain`.
    public func string(forKey key: String) throws(KeychainError) -> String {
        guard let string = String(utf8: try object(forKey: key)) else {
            Platform.keep(.valueIsNotUTF8)
            throw .itemNotFound
        }
        return string
    }

    /// Returns whether something is stored under `key`. Does not read the value.
    ///
    /// - Throws: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func containsObject(forKey key: String) throws(KeychainError) -> Bool {
        try check(key)
        return try translating { () throws(KeychainFailure) in
            try backend.contains(PasswordName(key, in: sandbox), nil)
        }
    }

    /// Returns the keys under which something is stored; an empty set if there are none.
    ///
    /// Leaves out items whose account is not text, which other software may have stored. Of keys
    /// that differ in bytes but are equal in Swift, such as "é" as one scalar and as two, the set
    /// has one. The cost grows with the number of keys.
    ///
    /// - Throws: `missingEntitlement`, `couldNotAccessKeychain`.
    public func allKeys() throws(KeychainError) -> Set<String> {
        try translating { () throws(KeychainFailure) in
            Set(try backend.accounts(of: sandbox, nil).filter { !ServiceName.isCanary($0) })
        }
    }

    /// Removes what is stored under `key`, if anything.
    ///
    /// - Throws: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func removeObject(forKey key: String) throws(KeychainError) {
        try check(key)
        try backend.deleteAny(PasswordName(key, in: sandbox).query)
    }

    /// Removes everything that is stored, including the canary of ``canAccessKeychain()``.
    ///
    /// On Linux more than 1,000 objects are removed in batches, so that other programs can write
    /// in between. After an error or a crash some objects may be left; another call removes them.
    ///
    /// - Throws: `missingEntitlement`, `couldNotAccessKeychain`.
    public func removeAllObjects() throws(KeychainError) {
        try backend.deleteAny(query)
    }

    private func check(_ key: String) throws(KeychainError) {
        guard !key.isEmpty else { throw .emptyKey }
    }

    /// Returns the bytes that are stored under each of `keys`, as they were at one moment.
    ///
    /// Apple's keychain has no transactions: there the values are read one after the other.
    ///
    /// - Returns: The values by key. Keys under which nothing is stored are missing. Of keys that
    ///   differ in bytes but are equal in Swift, such as "é" as one scalar and as two, it has one.
    /// - Throws: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func objects(
        forKeys keys: some Sequence<String>
    ) throws(KeychainError) -> [String: Data] {
        let keys = Set(keys)
        guard !keys.contains("") else { throw .emptyKey }
        guard !keys.isEmpty else { return [:] }
        return try translating { () throws(KeychainFailure) in
            try backend.values(of: keys, in: sandbox)
        }
    }

    /// Stores each of `objects` under its key and replaces what was stored there: all of them or
    /// none. On return they are on disk.
    ///
    /// This is one transaction, so a hundred objects cost little more than one. Apple's keychain
    /// has no transactions: there, if an object cannot be stored, those before it are set back.
    ///
    /// - Throws: `emptyKey`, `emptyValue`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func setObjects(_ objects: [String: Data]) throws(KeychainError) {
        guard objects[""] == nil else { throw .emptyKey }
        guard !objects.values.contains(where: \.isEmpty) else { throw .emptyValue }
        try translating { () throws(KeychainFailure) in
            try backend.set(objects.map { (item: sandbox.item($0.key), value: $0.value) })
        }
    }

    /// Returns whether the keychain works here. Tries to read a canary item, and stores it if it
    /// does not exist. ``allKeys()`` leaves the canary out.
    ///
    /// Valets of one explicitly set identifier share the canary, whatever their accessibilities.
    public func canAccessKeychain() -> Bool { backend.canAccess(sandbox) }

    /// `failure` with a hint if `key` is stored under the same identifier with another
    /// accessibility. Costs a search.
    func explained(_ failure: KeychainFailure, missing key: String) -> KeychainFailure {
        guard let accessibility = otherAccessibility(of: key) else { return failure }
        return KeychainFailure(
            failure,
            hint: "the key is stored under the same identifier with the accessibility "
                + "\(accessibility)")
    }

    /// Finds the key in one search: services of other accessibilities differ in their names,
    /// explicitly set ones only in the class of their items.
    private func otherAccessibility(of key: String) -> Accessibility? {
        var query = query
        query.protectionClass = nil
        query.attributes = [.account: .text(key)]
        query.limit = 100
        guard let items = try? backend.copy(query, withValues: false, nil) else { return nil }
        return Accessibility.allCases.first { accessibility in
            let service = configuration.identity.service(accessibility.protectionClass)
            return accessibility != self.accessibility
                && items.contains { item in
                    item.serviceText?.hasSameBytes(as: service) == true
                        && item.protectionClass == accessibility.protectionClass
                }
        }
    }
}
