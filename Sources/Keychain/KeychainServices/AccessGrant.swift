// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeychainStore
package import ValetSystem

/// A lasting yes: where the policy of the Secret Service says 'ask', a person has let a program use
/// a collection until somebody takes it back. Format: docs/FORMAT.md §8.3.
package struct AccessGrant: Hashable, Sendable {
    /// A program that can be told from every other one.
    package enum Program: Hashable, Sendable {
        /// As policies name it: `flatpak:ORG.EXAMPLE.APP`, `snap:NAME`.
        case sandbox(String)
        case file(path: String, FileVersion)

        /// The name of the sandbox, or the path.
        package var name: String {
            switch self {
            case .sandbox(let name): name
            case .file(let path, _): path
            }
        }
    }

    package let program: Program
    package let collection: String
    /// Seconds since 1970.
    package let since: UInt64
    /// When the program last used the collection, to within a day, in seconds since 1970; nil if it
    /// has not yet.
    package var lastUse: UInt64?

    package init(
        _ program: Program, collection: String, since: UInt64, lastUse: UInt64? = nil
    ) {
        (self.program, self.collection) = (program, collection)
        (self.since, self.lastUse) = (since, lastUse)
    }

    /// A time that is not known exactly is not worth a write for each use.
    private static let usePrecision: UInt64 = 86_400

    /// Whether a use at that time is worth a write.
    package func isOutdated(at seconds: UInt64) -> Bool {
        let last = lastUse ?? 0
        return seconds >= last ? seconds - last >= Self.usePrecision : true
    }
}

/// How grants are kept: each is an item without a value.
extension AccessGrant {
    private static let servicePrefix = "grant:"
    private static let version = "1"

    /// - Parameters:
    ///   - name: The name of a program; nil for all.
    ///   - collection: nil for all.
    fileprivate static func query(_ name: String?, _ collection: String? = nil) -> ItemQuery {
        var query = ItemQuery(.genericPassword, accessGroup: .ofGrants)
        // Items of other protection classes may be locked.
        query.protectionClass = .afterFirstUnlockThisDeviceOnly
        if let name { query.attributes[.service] = .text(servicePrefix + name) }
        if let collection { query.attributes[.account] = .text(collection) }
        return query
    }

    /// nil for an item that this version does not understand: then nothing is known of the program.
    fileprivate init?(_ item: StoredItem) {
        guard let service = item.attributes[.service]?.text, service.hasPrefix(Self.servicePrefix),
            let collection = item.attributes[.account]?.text, !collection.isEmpty,
            let text = item.attributes[.generic]?.text
        else { return nil }
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count >= 2, words[0] == Self.version, let since = UInt64(words[1]),
            let program = Self.program(String(service.dropFirst(Self.servicePrefix.count)), words)
        else { return nil }
        self.init(program, collection: collection, since: since)
        // One encoding for each value.
        guard text == self.text else { return nil }
        if let last = item.attributes[.comment]?.text {
            guard let seconds = UInt64(last), String(seconds) == last else { return nil }
            lastUse = seconds
        }
    }

    private static func program(_ name: String, _ words: [String]) -> Program? {
        guard name.hasPrefix("/") else {
            return words.count == 2 && name.contains(":") ? .sandbox(name) : nil
        }
        guard words.count == 7, let device = UInt64(words[2]), let inode = UInt64(words[3]),
            let byteCount = Int64(words[4]), let changed = Int64(words[5]),
            let nanoseconds = UInt32(words[6])
        else { return nil }
        return .file(
            path: name,
            FileVersion(
                device: device, inode: inode, byteCount: byteCount, changed: changed,
                nanoseconds: nanoseconds))
    }

    private var text: String {
        let words =
            switch program {
            case .sandbox: [Self.version, String(since)]
            case .file(_, let file):
                [
                    Self.version, String(since), String(file.device), String(file.inode),
                    String(file.byteCount), String(file.changed), String(file.changedNanoseconds),
                ]
            }
        return words.joined(separator: " ")
    }

    fileprivate var item: NewItem {
        var attributes = Self.query(program.name, collection).attributes
        attributes[.generic] = .text(text)
        if let lastUse { attributes[.comment] = .text(String(lastUse)) }
        return NewItem(
            .genericPassword, attributes: attributes, accessGroup: .ofGrants,
            protectionClass: .afterFirstUnlockThisDeviceOnly)
    }
}

/// All grants of a keychain.
package struct AccessGrantList: Sendable {
    package var grants: [AccessGrant] = []
    /// Whether there are others that cannot be read: their programs are asked for.
    package var hasDamage = false
}

extension KeychainSession {
    private var ofGrants: KeychainSession { session(in: [.ofGrants]) }

    /// The grants of one program, or of all.
    ///
    /// - Throws: `locked` before the first unlock, and the failures of every read.
    package func grants(of name: String? = nil) throws(KeychainFailure) -> AccessGrantList {
        var list = AccessGrantList()
        guard let found = try foundGrants(name) else { return list }
        var damage: KeychainFailure?
        for item in found.readable(noting: &damage) {
            if let grant = AccessGrant(item) {
                list.grants.append(grant)
            } else {
                list.hasDamage = true
            }
        }
        if damage != nil { list.hasDamage = true }
        list.grants.sort { ($0.program.name, $0.collection) < ($1.program.name, $1.collection) }
        return list
    }

    /// nil for none.
    private func foundGrants(
        _ name: String?
    ) throws(KeychainFailure) -> FoundItems<StoredItem>? {
        // Nobody is asked for a passcode, nor is one read: without a grant there is a question.
        let access = PresenceAccess(.naming, enrolment: .known([]))
        do {
            let found = try store.copy(
                AccessGrant.query(name), .attributes, for: ofGrants.caller, access)
            guard case .found(let items) = found else { return nil }
            return items
        } catch {
            // No other item was found.
            guard error.code == .damaged else { throw error }
            return FoundItems(damage: error)
        }
    }

    /// Keeps grants, in place of the former ones of the same program for these collections: all or
    /// none.
    package func keep(_ grants: [AccessGrant]) throws(KeychainFailure) {
        var transfer = ItemTransfer()
        for grant in grants {
            // A damaged one makes way by itself.
            var damage: KeychainFailure?
            let known = try foundGrants(grant.program.name)?.readable(noting: &damage) ?? []
            transfer.deletions += known.filter { item in
                item.attributes[.account]?.text == grant.collection
            }.map(\.version)
            transfer.additions.append(Addition(grant.item, value: nil))
        }
        try ofGrants.perform(transfer)
    }

    /// Notes when a grant was used. Does nothing if it was taken back.
    package func noteUse(of grant: AccessGrant, at seconds: UInt64) throws(KeychainFailure) {
        let changes = ItemChanges(attributes: [.comment: .text(String(seconds))])
        _ = try existing { () throws(KeychainFailure) in
            try ofGrants.update(
                AccessGrant.query(grant.program.name, grant.collection), changes)
        }
    }

    /// Takes grants back.
    ///
    /// - Parameters:
    ///   - name: The name of the program.
    ///   - collection: nil for all.
    /// - Returns: How many they were.
    package func removeGrants(
        of name: String, collection: String? = nil
    ) throws(KeychainFailure) -> Int {
        try existing { () throws(KeychainFailure) in
            try ofGrants.delete(AccessGrant.query(name, collection))
        } ?? 0
    }

    /// Takes all grants back, also those that are damaged or that this version does not understand.
    ///
    /// - Returns: How many they were.
    /// - Throws: `damaged` if a row is so damaged that it may belong to any application. Then those
    ///   that can be read are taken back.
    package func removeAllGrants() throws(KeychainFailure) -> Int {
        do {
            return try store.delete([AccessGrant.query(nil)], purging: true, for: ofGrants.caller)
        } catch {
            guard error.code == .damaged else { throw error }
            var damage: KeychainFailure?
            var transfer = ItemTransfer()
            transfer.deletions =
                try foundGrants(nil)?.readable(noting: &damage).map(\.version) ?? []
            try ofGrants.perform(transfer)
            throw KeychainFailure(
                error,
                hint: "the grants that can be read are taken back; `valet rotate --skip-damaged` "
                    + "sets the others aside")
        }
    }
}

/// The result of `body`; nil if it finds no item.
private func existing<R>(_ body: () throws(KeychainFailure) -> R) throws(KeychainFailure) -> R? {
    do {
        return try body()
    } catch {
        guard error.code == .itemNotFound else { throw error }
        return nil
    }
}
