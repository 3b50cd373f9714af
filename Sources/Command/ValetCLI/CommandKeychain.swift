// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// The keychain as one application sees it. A verb that finds it locked unlocks it:
/// ``CommandUnlocking``.
struct CommandKeychain {
    var session: KeychainSession
    let unlocking: CommandUnlocking

    var applicationIdentifier: String { session.caller.applicationIdentifier }

    /// Makes a request of ``session``. If the keychain is locked, unlocks it and asks again.
    func attempt<R>(
        _ request: @autoclosure () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        try unlocking.run(request)
    }

    /// What each query finds, all of one moment, without values. Finding none is no error.
    func find(_ queries: [ItemQuery]) throws(KeychainFailure) -> [FoundItems<StoredItem>] {
        try attempt(session.find(queries)).each
    }

    /// The items that match one of the queries, with all their attributes: for queries that match
    /// few. Finding none is no error.
    ///
    /// - Throws: `damaged` if a damaged item may match.
    func items(_ queries: [ItemQuery]) throws(KeychainFailure) -> [StoredItem] {
        try attempt(session.find(queries)).items.items
    }

    /// Passes the items that match to `body`, without their values, until it returns false. Leaves
    /// out canaries, which are no secrets. Finding none is no error.
    ///
    /// - Parameter queries: nil for the items of every application.
    /// - Returns: Why the search has left items out; nil if it has not.
    func forEachItem(
        _ queries: [ItemQuery]?, _ body: (ListedItem) -> Bool
    ) throws(KeychainFailure) -> KeychainFailure? {
        var walk = try queries.map(session.walk) ?? session.store.walkEverything()
        var omission: KeychainFailure?
        while !walk.isAtEnd {
            let found = try attempt(next(of: &walk, queries)).readable(noting: &omission)
            for item in found.map(ListedItem.init) where !item.isCanary {
                guard body(item) else { return omission }
            }
        }
        return omission
    }

    private func next(
        of walk: inout ItemWalk, _ queries: [ItemQuery]?
    ) throws(KeychainFailure) -> FoundItems<StoredItem> {
        guard let queries else { return try session.store.next(of: &walk) }
        return try session.next(of: &walk, queries)
    }
}

extension CommandKeychain {
    /// How many titles a message has.
    private static let shownCount = 10

    /// The passwords of the application that no valet stored, as far as the options of `scope`
    /// allow them; none if they choose a valet.
    func logins(_ scope: Scope, _ pattern: NamePattern? = nil) throws(CLIError) -> [StoredItem] {
        guard !scope.isIdentifierChosen else { return [] }
        return Self.logins(try requesting(items(Self.loginQueries(scope))), pattern)
    }

    private static func loginQueries(_ scope: Scope) -> [ItemQuery] {
        ItemClass.allCases.map { itemClass in
            var query = ItemQuery(
                itemClass, accessGroup: scope.requester.group,
                synchronizable: scope.synchronizable)
            if scope.isAccessibilityChosen { query.protectionClass = scope.accessibility }
            return query
        }
    }

    private static func logins(_ items: [StoredItem], _ pattern: NamePattern?) -> [StoredItem] {
        items.filter { !$0.owner.isValet && pattern?.matches($0.name) != false }
            .sorted { $0.name < $1.name }
    }

    /// Says which passwords a verb for the secrets of a valet leaves, as far as they can be read:
    /// nobody is asked for that.
    func noteLogins(staying scope: Scope, _ pattern: NamePattern?, _ hint: String) {
        guard !scope.isIdentifierChosen,
            let found = try? session.find(Self.loginQueries(scope)).items
        else { return }
        var damage: KeychainFailure?
        let left = Self.logins(found.readable(noting: &damage), pattern)
        guard !left.isEmpty else { return }
        let count = left.count == 1 ? "1 password stays" : "\(left.count) passwords stay"
        unlocking.console.note("valet: \(count): \(Self.titles(left))")
        unlocking.console.hint(hint)
    }

    /// The titles of some items, in one line.
    static func titles(_ items: [StoredItem]) -> String {
        items.prefix(shownCount).map(\.title).joined(separator: ", ")
            + (items.count > shownCount ? ", …" : "")
    }
}

/// Changing what was read before.
extension CommandKeychain {
    /// How often another program may be faster.
    private static let tryCount = 5

    /// Runs `body`, which reads items and then changes them, until no other program has changed
    /// them in between.
    ///
    /// - Parameters:
    ///   - what: What other programs change, in a message.
    ///   - body: Returns nil, with nothing done, if another program was faster.
    /// - Throws: ``ExitCode/locked`` if that happens each time.
    func repeating<R>(
        _ what: String, _ body: () throws(CLIError) -> R?
    ) throws(CLIError) -> R {
        for _ in 0..<Self.tryCount {
            if let result = try body() { return result }
        }
        throw CLIError(
            .locked, "other programs change \(what) all the time: nothing was done",
            hint: "try again")
    }

    /// Makes a request for items that were read before. Returns nil if they are not as they were.
    func unlessChanged<R>(
        _ request: @autoclosure () throws(KeychainFailure) -> R
    ) throws(CLIError) -> R? {
        do {
            return try attempt(request())
        } catch {
            guard error.code == .itemNotFound else { throw CLIError(error) }
            return nil
        }
    }
}

extension StoredItem {
    /// The account, as `list` shows it.
    var name: String { ListedItem.text(attributes[.account]) }
    /// The valet, service or server.
    var owner: ItemOwner { ItemOwner(itemClass, attributes, in: accessGroup) }
    /// The item in messages: "'key'", or "'anna' of 'mail.example.com'" for a password.
    var title: String {
        owner.isValet ? quoted(name) : "\(quoted(name)) of \(quoted(owner.name))"
    }
}

extension KeychainStatus {
    /// Whether each process keeps its own opened keys.
    var isUnlockedByProcess: Bool { lockStateProvider == "process" }
}
