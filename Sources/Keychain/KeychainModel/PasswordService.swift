// SPDX-License-Identifier: Apache-2.0

/// A set of generic passwords that differ only in their account: the items of one valet.
package struct PasswordService: Hashable, Sendable {
    package let service: String
    /// nil for every group of the application when reading, and for its default group when writing.
    package let accessGroup: AccessGroup?
    package let isSynchronizable: Bool
    package let protectionClass: ProtectionClass
    /// Computed once, because the same service is looked up repeatedly.
    private let precomputedHash: Int

    package init(
        service: String, accessGroup: AccessGroup?, isSynchronizable: Bool,
        protectionClass: ProtectionClass
    ) {
        self.service = service
        self.accessGroup = accessGroup
        self.isSynchronizable = isSynchronizable
        self.protectionClass = protectionClass
        var hasher = Hasher()
        hasher.combine(service)
        hasher.combine(accessGroup)
        precomputedHash = hasher.finalize()
    }

    /// Compares the bytes of names: two texts that are equal in Swift may name different items.
    package static func == (left: PasswordService, right: PasswordService) -> Bool {
        left.precomputedHash == right.precomputedHash && left.accessGroup == right.accessGroup
            && left.isSynchronizable == right.isSynchronizable
            && left.protectionClass == right.protectionClass
            && left.service.hasSameBytes(as: right.service)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(precomputedHash)
    }

    package var query: ItemQuery {
        var query = ItemQuery(
            .genericPassword, attributes: [.service: .text(service)], accessGroup: accessGroup,
            synchronizable: isSynchronizable ? .synchronizedOnly : .localOnly)
        query.protectionClass = protectionClass
        return query
    }

    package func item(_ account: String) -> NewItem {
        NewItem(
            .genericPassword, attributes: [.account: .text(account), .service: .text(service)],
            accessGroup: accessGroup, isSynchronizable: isSynchronizable,
            protectionClass: protectionClass)
    }

    /// Whether the keychain works for these items: reads the canary, or stores and reads it.
    ///
    /// - Parameters:
    ///   - read: Whether the item has the canary's value; nil for an item without a value.
    ///   - store: Stores the canary's value.
    ///   - readAll: Whether all items that match have the canary's value.
    package func canAccess(
        read: (PasswordName) throws(KeychainFailure) -> Bool?,
        store: (NewItem) throws(KeychainFailure) -> Void,
        readAll: (ItemQuery) throws(KeychainFailure) -> Bool
    ) -> Bool {
        let canary = PasswordName(ServiceName.canaryAccount, in: self)
        do {
            do {
                if let isCanary = try read(canary) { return isCanary }
            } catch {
                guard !protectionClass.isRetired else { return error.code == .itemNotFound }
            }
            try store(item(canary.account))
            return try read(canary) == true
        } catch {
            guard error.code == .duplicateItem else { return false }
        }
        // A valet of another accessibility stored it. The keychain reports a duplicate only if the
        // protection class of this valet's items is open. So a canary whose own class is locked
        // says nothing against this valet.
        var query = canary.query
        query.protectionClass = nil
        query.limit = nil
        do {
            return try readAll(query)
        } catch {
            return [.locked, .interactionNotAllowed, .itemNotFound].contains(error.code)
        }
    }
}

/// The whole primary key of a generic password, as text.
///
/// The fast path of reading uses it; ``query`` is the same search in general form.
package struct PasswordName: Hashable, Sendable {
    /// The value of `kSecAttrAccount`, exact to the byte.
    package let account: String
    package let service: PasswordService

    /// Compares the bytes of names, as ``PasswordService`` does.
    package static func == (left: PasswordName, right: PasswordName) -> Bool {
        left.service == right.service && left.account.hasSameBytes(as: right.account)
    }

    package init(_ account: String, in service: PasswordService) {
        self.account = account
        self.service = service
    }

    package var query: ItemQuery {
        var query = service.query
        query.attributes[.account] = .text(account)
        query.limit = 1
        return query
    }
}

/// The service names of valets.
///
/// They are stored, and earlier versions on every platform wrote them, so they never change
/// (docs/FORMAT.md §8.1).
package enum ServiceName {
    /// The kinds of valets, by the name that stored services carry.
    package enum Kind: String, CaseIterable, Sendable {
        case valet = "VALValet"
        case synchronizableValet = "VALSynchronizableValet"
        case secureEnclaveValet = "VALSecureEnclaveValet"
        case singlePromptSecureEnclaveValet = "VALSinglePromptSecureEnclaveValet"
    }

    package static func standard(_ kind: Kind, identifier: String, accessibility: String) -> String
    {
        "VAL_\(kind.rawValue)_initWithIdentifier:accessibility:_\(identifier)_\(accessibility)"
    }

    /// The service of a valet that applications share; `group` without its prefix.
    package static func sharedGroup(
        _ kind: Kind, group: String, identifier: String?, accessibility: String
    ) -> String {
        let name = identifier.map { "\(group)_\($0)" } ?? group
        return "VAL_\(kind.rawValue)_initWithSharedAccessGroupIdentifier:accessibility:"
            + "_\(name)_\(accessibility)"
    }

    package static let canaryAccount = "VAL_KeychainCanaryUsername"
    package static let canaryValue = "VAL_KeychainCanaryPassword"

    /// Whether an account is the canary's. Compares bytes: other bytes that are equal as Swift
    /// strings are a key of the user.
    package static func isCanary(_ account: String?) -> Bool {
        account?.hasSameBytes(as: canaryAccount) == true
    }

    /// Whether an item is a valet's canary, which is no secret of anybody.
    package static func isCanary(_ itemClass: ItemClass, _ attributes: ItemAttributes) -> Bool {
        guard itemClass == .genericPassword, case .text(let account)? = attributes[.account],
            isCanary(account), case .text(let service)? = attributes[.service]
        else { return false }
        return Kind.allCases.contains { service.utf8.starts(with: "VAL_\($0.rawValue)_init".utf8) }
    }
}
