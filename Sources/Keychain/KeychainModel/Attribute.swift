// SPDX-License-Identifier: Apache-2.0

/// An attribute of a password item, named by its four-character code (spec/secitem.md §1.2).
package enum Attribute: String, CaseIterable, Hashable, Sendable {
    case account = "acct"
    case service = "svce"
    case generic = "gena"
    case securityDomain = "sdmn"
    case server = "srvr"
    case `protocol` = "ptcl"
    case authenticationType = "atyp"
    case port = "port"
    case path = "path"
    case accessGroup = "agrp"
    case synchronizable = "sync"
    case syncViewHint = "vwht"
    case tokenID = "tkid"
    case label = "labl"
    case itemDescription = "desc"
    case comment = "icmt"
    case creator = "crtr"
    case type = "type"
    case scriptCode = "scrp"
    case isInvisible = "invi"
    case isNegative = "nega"
    case hasCustomIcon = "cusi"
    case alias = "alis"
    case protectedData = "prot"
    case accessible = "pdmn"
    case accessControl = "accc"
    case creationDate = "cdat"
    case modificationDate = "mdat"
    /// The names and values by which programs of the Secret Service look for an item, encoded:
    /// `LookupAttributes`. SecItem has no such attribute.
    case lookupAttributes = "look"
    /// How many fields the item has beside its value: `EntryFields`. SecItem has none.
    case fieldCount = "flds"

    /// How values of this attribute are converted and compared (spec/secitem.md §2.1).
    package var family: AttributeFamily {
        switch self {
        case .account, .service, .generic, .securityDomain, .server, .authenticationType, .path,
            .label, .itemDescription, .comment, .alias, .protectedData, .lookupAttributes:
            .blob
        case .protocol, .port, .synchronizable, .creator, .type, .scriptCode, .isInvisible,
            .isNegative, .hasCustomIcon, .fieldCount:
            .number
        case .accessGroup, .accessible, .syncViewHint, .tokenID: .string
        case .creationDate, .modificationDate: .date
        case .accessControl: .accessControl
        }
    }

    /// Whether items of `itemClass` can have this attribute (spec/secitem.md §2.2).
    package func exists(in itemClass: ItemClass) -> Bool {
        switch self {
        case .service, .generic, .lookupAttributes: itemClass == .genericPassword
        case .securityDomain, .server, .protocol, .authenticationType, .port, .path:
            itemClass == .internetPassword
        default: true
        }
    }

    /// The attribute's value in items for which none is given; nil if there is no default.
    package var defaultValue: AttributeValue? {
        switch self {
        case .account, .service, .securityDomain, .server, .authenticationType, .path:
            .text("")
        case .syncViewHint, .tokenID: .text("")
        case .protocol, .port: .number(0)
        default: nil
        }
    }

    /// The attribute's number in rows, hashes and backups: docs/FORMAT.md §5.3.
    package var tag: UInt8 {
        switch self {
        case .account: 1
        case .service: 2
        case .generic: 3
        case .securityDomain: 4
        case .server: 5
        case .protocol: 6
        case .authenticationType: 7
        case .port: 8
        case .path: 9
        case .accessGroup: 10
        case .synchronizable: 11
        case .syncViewHint: 12
        case .tokenID: 13
        case .label: 14
        case .itemDescription: 15
        case .comment: 16
        case .creator: 17
        case .type: 18
        case .scriptCode: 19
        case .isInvisible: 20
        case .isNegative: 21
        case .hasCustomIcon: 22
        case .alias: 23
        case .protectedData: 24
        case .accessible: 25
        case .accessControl: 26
        case .creationDate: 27
        case .modificationDate: 28
        case .lookupAttributes: 30
        case .fieldCount: 31
        }
    }

    /// The attribute that a request of SecItem names; nil for other keys.
    package init?(requestKey key: String) {
        guard let attribute = Attribute(rawValue: key), attribute.isOfSecItem else { return nil }
        self = attribute
    }

    /// Whether SecItem has the attribute.
    package var isOfSecItem: Bool { self != .lookupAttributes && self != .fieldCount }

    private static let byTag: [Attribute?] = {
        var table = [Attribute?](repeating: nil, count: 32)
        for attribute in Attribute.allCases { table[Int(attribute.tag)] = attribute }
        return table
    }()

    /// The attribute with this number; nil for other numbers.
    package init?(tag: UInt8) {
        guard tag < Self.byTag.count, let attribute = Self.byTag[Int(tag)] else { return nil }
        self = attribute
    }
}

/// The texts of the `kSec…` constants in requests that do not name attributes
/// (spec/secitem.md §1.1, §1.6, §1.7).
package enum SecItemKey {
    package static let itemClass = "class"
    package static let limit = "m_Limit"
    package static let limitOne = "m_LimitOne"
    package static let limitAll = "m_LimitAll"
    package static let hostOrSubdomainOfHost = "m_HostOrSubdomainOfHost"
    package static let returnData = "r_Data"
    package static let returnAttributes = "r_Attributes"
    package static let returnReference = "r_Ref"
    package static let returnPersistentReference = "r_PersistentRef"
    package static let data = "v_Data"
    package static let persistentReference = "v_PersistentRef"
    package static let usesDataProtectionKeychain = "nleg"
    package static let synchronizableAny = "syna"
    package static let authenticationContext = "u_AuthCtx"
    package static let authenticationUI = "u_AuthUI"
    package static let authenticationUIFail = "u_AuthUIF"
}
