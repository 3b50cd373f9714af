// SPDX-License-Identifier: Apache-2.0

// Copies or moves items into a valet for `valet_migrate`. The rules are in ``MigrationPlan``.

internal import ValetCInterfaceHeader
package import ValetKeychainModel
internal import ValetKeychainServices
package import ValetKeychainStore
package import ValetSealing

extension StoredItem: MigratableItem {
    /// The account, if it is text.
    package var accountText: String? { Self.text(attributes[.account]) }
    /// The service, if it is text.
    package var serviceText: String? { Self.text(attributes[.service]) }
    package var groupName: String? { accessGroup.rawValue }
    package var knownClass: ProtectionClass? { protectionClass }

    /// An attribute that is text; an item without the attribute has the empty text.
    private static func text(_ value: AttributeValue?) -> String? {
        guard let value else { return "" }
        return if case .text(let text) = value { text } else { nil }
    }
}

extension SecretValue: MigratableValue {
    /// Whether it has no bytes.
    package var isEmpty: Bool { byteCount == 0 }

    /// Whether both have the same bytes, compared in constant time.
    package func isSame(as other: SecretValue) -> Bool {
        guard self !== other else { return true }
        return withBytes { (bytes: Span<UInt8>) in
            other.withBytes { (others: Span<UInt8>) in
                guard bytes.count == others.count else { return false }
                return bytes.indices.reduce(0) { $0 | bytes[$1] ^ others[$1] } == 0
            }
        }
    }
}

/// Where the items of a migration come from.
enum MigrationSource {
    case valet(OpenValet)
    case query(ItemQuery)
    case retired(ProtectionClass)
}

extension OpenValet {
    /// A migration's function of the caller.
    typealias Transform = MigrationPlan<StoredItem>.Transform

    /// Stores the items of `source` here, all or none; removes all of them from their old place, or
    /// none.
    func migrate(
        _ source: MigrationSource, removing: Bool, _ options: CallOptions, _ transform: Transform
    ) throws(CallFailure) {
        try refuseRetired()
        let session = try options.session()
        let (query, policy) = try search(source, options)
        let items = try options.explaining { () throws(KeychainFailure) in
            try session.copy(query, [.attributes, .value], policy).itemsUnlessDamaged()
        }
        let plan: MigrationPlan<StoredItem>
        do {
            plan = try MigrationPlan(items, into: identity, removing: removing, transform)
        } catch let refusal as MigrationRefusal {
            throw .migration(refusal)
        } catch let failure as CallFailure {
            throw failure
        } catch {
            throw .keychain(KeychainFailure(.internalFault, during: "migrate items"))
        }
        guard !plan.isEmpty else { return }
        guard try !hasAny(plan.addedKeys, session) else { throw .migration(.keyExists) }
        try perform(plan, session)
    }

    private func search(
        _ source: MigrationSource, _ options: CallOptions
    ) throws(CallFailure) -> (ItemQuery, AuthenticationPolicy) {
        switch source {
        case .valet(let valet): return (valet.items.query, valet.policy(options))
        case .query(let query): return (query, policy(options))
        case .retired(let protectionClass):
            guard identity.demand == nil else {
                throw .invalid("a valet of this kind stored nothing with a retired accessibility")
            }
            var query = items.query
            query.attributes[.service] = .text(identity.service(protectionClass))
            query.protectionClass = protectionClass
            return (query, policy(options))
        }
    }

    /// Whether something is stored under one of `keys`. Keys of an explicitly set name are unique
    /// among all accessibilities.
    private func hasAny(
        _ keys: Set<ExactName>, _ session: KeychainSession
    ) throws(CallFailure) -> Bool {
        guard !keys.isEmpty else { return false }
        return try keychain { () throws(KeychainFailure) in
            guard identity.demand == nil else {
                let policy = AuthenticationPolicy(.fail)
                for key in keys
                where try session.contains(PasswordName(key.text, in: items), policy) {
                    return true
                }
                return false
            }
            var query = items.query
            query.protectionClass = nil
            do throws(KeychainFailure) {
                let found = try session.attributes(of: query).itemsReportingDamage()
                let accounts = found.compactMap(\.accountText)
                return accounts.contains { keys.contains(ExactName($0)) }
            } catch {
                guard error.code == .itemNotFound else { throw error }
                return false
            }
        }
    }

    private func perform(
        _ plan: MigrationPlan<StoredItem>, _ session: KeychainSession
    ) throws(CallFailure) {
        let transfer = ItemTransfer(
            additions: plan.additions.map { Addition($0.item, value: $0.value) },
            changes: plan.changes.map {
                ItemTransfer.Change($0.found.version, to: $0.item, value: $0.found.value)
            },
            deletions: plan.removals.map(\.version))
        do {
            try session.perform(transfer)
        } catch {
            switch error.code {
            case .duplicateItem: throw .migration(.keyExists)
            // Only an item to change or remove can be missing.
            case .itemNotFound: throw .migration(.removalFailed)
            default: throw .storing(error)
            }
        }
    }
}

extension StoredItem {
    fileprivate var version: ItemVersion {
        let date: Double? =
            if case .date(let date)? = attributes[.modificationDate] { date } else { nil }
        return ItemVersion(reference, modificationDate: date)
    }
}

/// One entry of a query, as ``Argument`` reads it.
struct QueryEntry {
    let name: String
    let input: AttributeInput
}

extension ItemQuery {
    /// A search for generic passwords that have these attributes.
    ///
    /// The entries are those of a SecItem dictionary. Entries that a migration sets itself are
    /// refused.
    init(_ entries: [QueryEntry]) throws(CallFailure) {
        self.init(.genericPassword)
        var names: Set<String> = []
        for entry in entries {
            guard names.insert(entry.name).inserted else {
                throw .invalid("an attribute is given twice")
            }
            try take(entry)
        }
    }

    /// Keys that a migration sets itself, with the only value that they may have (spec/secitem.md
    /// §1.6, §1.7). `kSecUseDataProtectionKeychain` means nothing here.
    private static let fixed: [String: [AttributeInput]] = [
        "class": [.text(ItemClass.genericPassword.code)],
        "m_Limit": [.text("m_LimitAll")],
        "r_Data": [.number(0), .boolean(false)], "r_Ref": [.number(0), .boolean(false)],
        "r_Attributes": [.number(1), .boolean(true)],
        "r_PersistentRef": [.number(1), .boolean(true)],
        "nleg": [.number(0), .number(1), .boolean(false), .boolean(true)],
    ]

    private mutating func take(_ entry: QueryEntry) throws(CallFailure) {
        if let allowed = Self.fixed[entry.name] {
            guard allowed.contains(entry.input) else { throw .migration(.invalidQuery) }
            return
        }
        guard let attribute = Attribute(rawValue: entry.name),
            attribute.exists(in: .genericPassword)
        else {
            throw .keychain(
                KeychainFailure(
                    .noSuchAttribute, during: "migrate items",
                    message: "generic passwords have no attribute \"\(entry.name)\""))
        }
        guard attribute != .accessControl else { throw .migration(.invalidQuery) }
        guard let value = attribute.family.value(from: entry.input) else {
            throw .invalid("the attribute \"\(entry.name)\" does not take values of this type")
        }
        try set(attribute, value)
    }

    private mutating func set(
        _ attribute: Attribute, _ value: AttributeValue
    ) throws(CallFailure) {
        switch (attribute, value) {
        case (.accessGroup, .text(let name)): accessGroup = AccessGroup(name)
        case (.synchronizable, .number(0)): synchronizable = .localOnly
        case (.synchronizable, .number(1)): synchronizable = .synchronizedOnly
        case (.synchronizable, .text("syna")): synchronizable = .any
        case (.synchronizable, _): throw .invalid("\"sync\" is neither 0 nor 1 nor \"syna\"")
        case (.accessible, .text(let code)):
            guard let known = ProtectionClass(code: code) else {
                throw .invalid("\"pdmn\" is not the code of an accessibility")
            }
            protectionClass = known
        default: attributes[attribute] = value
        }
    }
}
