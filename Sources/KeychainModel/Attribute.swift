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

    /// How values of this attribute are converted and compared (spec/secitem.md §2.1).
    package var family: AttributeFamily {
        switch self {
        case .account, .service, .generic, .securityDomain, .server, .authenticationType, .path,
            .label, .itemDescription, .comment, .alias, .protectedData:
            .blob
        case .protocol, .port, .synchronizable, .creator, .type, .scriptCode, .isInvisible,
            .isNegative, .hasCustomIcon:
            .number
        case .accessGroup, .accessible, .syncViewHint, .tokenID: .string
        case .creationDate, .modificationDate: .date
        case .accessControl: .accessControl
        }
    }

    /// Whether items of `itemClass` can have this attribute (spec/secitem.md §2.2).
    package func exists(in itemClass: ItemClass) -> Bool {
        switch self {
        case .service, .generic: itemClass == .genericPassword
        case .securityDomain, .server, .protocol, .authenticationType, .port, .path:
            itemClass == .internetPassword
        default: true
        }
    }

    /// The value that an item has when none is given; nil for attributes without a default.
    package var defaultValue: AttributeValue? {
        switch self {
        case .account, .service, .securityDomain, .server, .authenticationType, .path:
            .text("")
        case .syncViewHint, .tokenID: .text("")
        case .protocol, .port: .number(0)
        default: nil
        }
    }
}
