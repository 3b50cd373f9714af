// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

// Attributes: keys of four characters (spec/secitem.md §2.1, §3.1).
extension RequestDictionary {
    mutating func takeAttribute(_ key: String, _ value: Any) throws(KeychainFailure) {
        guard let attribute = Attribute(rawValue: key), attribute.exists(in: itemClass) else {
            throw call.failure(
                .noSuchAttribute, "\"\(key)\" is not an attribute of this class of items")
        }
        if attribute == .accessControl { return try takeAccessControl(value) }
        try takeAttribute(attribute, AttributeInput(value))
    }

    private mutating func takeAccessControl(_ value: Any) throws(KeychainFailure) {
        guard let object = value as? SecAccessControl else { throw wrongType(.accessControl) }
        guard !object.isUntilReboot || !isWritten else {
            throw invalid("no item can have the class of this access control")
        }
        accessControl = object.content
        namesAttributes = true
    }

    /// Checks what the dictionary says of class and access control together.
    ///
    /// One that names a class alone may stand beside that class: it came with the attributes of an
    /// item (spec/secitem.md §3.4).
    func checkAccessControl() throws(KeychainFailure) {
        guard let accessControl else { return }
        if let protectionClass, accessControl != AccessControl(plain: protectionClass) {
            throw invalid("kSecAttrAccessible and kSecAttrAccessControl exclude each other")
        }
        guard accessControl.isPlain || synchronizable != .synchronized || !isWritten else {
            throw invalid("an item with an access control cannot be synchronizable")
        }
    }

    /// The class that is stored, and the access control if there is one.
    var storedClass: ProtectionClass? { accessControl?.protectionClass ?? protectionClass }
    /// The access control that is stored: one that names a class alone is none.
    var storedAccessControl: AccessControl? {
        accessControl.flatMap { $0.isPlain ? nil : $0 }
    }

    /// Whether these are attributes that are stored.
    private var isWritten: Bool { isChanges || call == .add }

    private mutating func takeAttribute(
        _ attribute: Attribute, _ input: AttributeInput
    ) throws(KeychainFailure) {
        switch attribute {
        case .accessGroup: try takeAccessGroup(input)
        case .synchronizable: return try takeSynchronizable(input)
        case .accessible: try takeProtectionClass(input)
        default: attributes[attribute] = try converted(input, for: attribute)
        }
        namesAttributes = true
    }

    private mutating func takeAccessGroup(_ input: AttributeInput) throws(KeychainFailure) {
        if case .text(let name) = input {
            accessGroup = AccessGroup(name)
        } else if isWriteSearch {
            // spec/secitem.md §5.2: whatever is not a group is not one of the caller's groups.
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
