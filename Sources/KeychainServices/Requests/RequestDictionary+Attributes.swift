// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainModel

// Attributes: keys of four characters (keychain-semantics §2.1, §3.1).
extension RequestDictionary {
    mutating func takeAttribute(_ key: String, _ value: Any) throws(KeychainFailure) {
        guard let attribute = Attribute(rawValue: key), attribute.exists(in: itemClass) else {
            throw call.failure(
                .noSuchAttribute, "\"\(key)\" is not an attribute of this class of items")
        }
        let input = AttributeInput(value)
        try takeAttribute(attribute, input)
    }

    private mutating func takeAttribute(
        _ attribute: Attribute, _ input: AttributeInput
    ) throws(KeychainFailure) {
        switch attribute {
        case .accessGroup: try takeAccessGroup(input)
        case .synchronizable: return try takeSynchronizable(input)
        case .accessible: try takeProtectionClass(input)
        // There are no access control objects yet, so whatever this is, it is none.
        case .accessControl: throw wrongType(attribute)
        default: attributes[attribute] = try converted(input, for: attribute)
        }
        namesAttributes = true
    }

    private mutating func takeAccessGroup(_ input: AttributeInput) throws(KeychainFailure) {
        if case .text(let name) = input {
            accessGroup = AccessGroup(name)
        } else if isWriteSearch {
            // keychain-semantics §5.2: whatever is not a group is not one of the caller's groups.
            throw call.failure(.missingEntitlement, "kSecAttrAccessGroup is not a string")
        } else if case .text(let name) = try converted(input, for: .accessGroup) {
            accessGroup = AccessGroup(name)
        }
    }

    private mutating func takeSynchronizable(_ input: AttributeInput) throws(KeychainFailure) {
        let value: Synchronizable =
            switch try converted(input, for: .synchronizable) {
            case .number(0): .local
            case .number(1): .synchronized
            case .text(kSecAttrSynchronizableAny): .any
            default: .neither
            }
        synchronizable = value
        if value != .any { namesAttributes = true }
    }

    private mutating func takeProtectionClass(_ input: AttributeInput) throws(KeychainFailure) {
        guard case .text(let code) = try converted(input, for: .accessible),
            let known = ProtectionClass(code: code)
        else { throw invalid("kSecAttrAccessible is not one of the kSecAttrAccessible… values") }
        protectionClass = known
    }

    /// Whether these are the items that a write is about, not what it sets.
    private var isWriteSearch: Bool {
        !isChanges && (call == .update || call == .delete)
    }

    private func converted(
        _ input: AttributeInput, for attribute: Attribute
    ) throws(KeychainFailure) -> AttributeValue {
        do {
            return try attribute.family.value(from: input)
        } catch {
            throw wrongType(attribute)
        }
    }

    private func wrongType(_ attribute: Attribute) -> KeychainFailure {
        invalid("the attribute \"\(attribute.rawValue)\" does not take values of this type")
    }
}
