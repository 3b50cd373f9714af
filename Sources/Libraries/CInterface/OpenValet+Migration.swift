// SPDX-License-Identifier: Apache-2.0

// Copies or moves items into a valet for `valet_migrate`. The rules are in ``MigrationPlan``.

internal import ValetCInterfaceHeader
package import ValetKeychainModel
internal import ValetKeychainServices
package import ValetKeychainStore
package import ValetSealing

extension StoredItem: MigratableItem {
    package var accountText: String? { (attributes[.account] ?? .text("")).text }
    package var serviceText: String? { (attributes[.service] ?? .text("")).text }
    package var groupName: String? { accessGroup.rawValue }
    package var knownClass: ProtectionClass? { protectionClass }
}

extension SecretValue: MigratableValue {
    package var isEmpty: Bool { byteCount == 0 }
}

enum MigrationSource {
    case valet(OpenValet)
    case query(ItemQuery)
    case retired(ProtectionClass)
}

extension OpenValet {
    typealias Transform = MigrationPlan<StoredItem>.Transform

    /// Stores the items of `source` here, all or none; removes all of them from their old place, or
    /// none.
    func migrate(
        _ source: MigrationSource, removing: Bool, _ options: CallOptions, _ transform: Transform
    ) throws(KeychainFailure) {
        try refuseRetired()
        let session = try options.session()
        let (query, policy) = try search(source, options)
        let items = try options.explaining { () throws(KeychainFailure) in
            try session.copy(query, [.attributes, .value], policy).itemsUnlessDamaged()
        }
        let plan = try MigrationPlan(items, into: identity, removing: removing, transform)
        try plan.carryOut { (keys) throws(KeychainFailure) in
            try hasAny(keys, session)
        } _: { (plan) throws(KeychainFailure) in
            try session.perform(ItemTransfer(plan))
        }
    }

    private func search(
        _ source: MigrationSource, _ options: CallOptions
    ) throws(KeychainFailure) -> (ItemQuery, AuthenticationPolicy) {
        switch source {
        case .valet(let valet): return (valet.items.query, valet.policy(options))
        case .query(let query): return (query, policy(options))
        case .retired(let protectionClass):
            guard identity.demand == nil else {
                throw .invalid("a valet of this kind stored nothing with a retired accessibility")
            }
            return (identity.items(protectionClass).query, policy(options))
        }
    }

    private func hasAny(
        _ keys: Set<ExactName>, _ session: KeychainSession
    ) throws(KeychainFailure) -> Bool {
        try identity.hasAny(
            keys,
            contains: { name throws(KeychainFailure) in
                try session.contains(name, AuthenticationPolicy(.fail))
            },
            search: { query throws(KeychainFailure) in
                try session.attributes(of: query).itemsUnlessDamaged()
            })
    }
}

extension ItemTransfer {
    fileprivate init(_ plan: MigrationPlan<StoredItem>) {
        self.init(
            additions: plan.additions.map {
                Addition($0.item, value: $0.value, fieldsOf: $0.source?.version)
            },
            changes: plan.changes.map {
                Change($0.found.version, to: $0.item, value: $0.found.value)
            },
            deletions: plan.removals.map(\.version))
    }
}

extension ItemQuery {
    /// A search for generic passwords that have these attributes.
    ///
    /// The entries are those of a SecItem dictionary. Entries that a migration sets itself are
    /// refused, unless they have a value of ``fixed``.
    init(_ entries: [(name: String, input: AttributeInput)]) throws(KeychainFailure) {
        self.init(.genericPassword)
        var names: Set<String> = []
        for entry in entries {
            guard names.insert(entry.name).inserted else {
                throw .invalid("an attribute is given twice")
            }
            try take(entry.name, entry.input)
        }
    }

    /// Keys that a migration sets itself, with the only values that they may have (spec/secitem.md
    /// §1.6, §1.7). `kSecUseDataProtectionKeychain` has no effect here.
    private static let fixed: [String: [AttributeInput]] = [
        "class": [.text(ItemClass.genericPassword.code)],
        "m_Limit": [.text("m_LimitAll"), .number(-1)],
        "r_Data": [.number(0), .boolean(false)], "r_Ref": [.number(0), .boolean(false)],
        "r_Attributes": [.number(1), .boolean(true)],
        "r_PersistentRef": [.number(1), .boolean(true)],
        "nleg": [.number(0), .number(1), .boolean(false), .boolean(true)],
    ]

    private mutating func take(
        _ name: String, _ input: AttributeInput
    ) throws(KeychainFailure) {
        if let allowed = Self.fixed[name] {
            guard allowed.contains(input) else { throw .migration(.invalidMigrationQuery) }
            return
        }
        guard let attribute = Attribute(requestKey: name),
            attribute.exists(in: .genericPassword)
        else {
            throw KeychainFailure(
                .noSuchAttribute, during: "migrate items",
                message: "generic passwords have no attribute \"\(name)\"")
        }
        guard attribute != .accessControl else { throw .migration(.invalidMigrationQuery) }
        guard let value = attribute.family.value(from: input) else {
            throw .invalid("the attribute \"\(name)\" does not take values of this type")
        }
        try set(attribute, value)
    }

    private mutating func set(
        _ attribute: Attribute, _ value: AttributeValue
    ) throws(KeychainFailure) {
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
