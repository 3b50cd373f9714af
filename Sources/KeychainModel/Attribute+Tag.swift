// SPDX-License-Identifier: Apache-2.0

extension Attribute {
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
        }
    }

    private static let byTag: [Attribute?] = {
        var table = [Attribute?](repeating: nil, count: 29)
        for attribute in Attribute.allCases { table[Int(attribute.tag)] = attribute }
        return table
    }()

    /// The attribute of that number; nil for numbers that no attribute has.
    package init?(tag: UInt8) {
        guard tag < Self.byTag.count, let attribute = Self.byTag[Int(tag)] else { return nil }
        self = attribute
    }
}
