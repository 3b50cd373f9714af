// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetKeychainServices

// Reads the keys of a request dictionary, kind by kind, for the initialisers of
// `RequestReader`.

// Return flags, values, and keys about questions (spec/secitem.md §3.1, §10.5).
extension RequestReader {
    mutating func takeReturn(_ key: String, _ value: Any) throws(KeychainFailure) {
        let part: ReturnedParts =
            switch key {
            case kSecReturnData: .data
            case kSecReturnAttributes: .attributes
            case kSecReturnRef: .object
            case kSecReturnPersistentRef: .persistentReference
            default: throw unknown(key)
            }
        guard case .boolean(let isWanted) = AttributeInput(value) else {
            throw wrongType(key, "a boolean")
        }
        if isWanted { returning.insert(part) }
    }

    mutating func takeValue(_ key: String, _ value: Any) throws(KeychainFailure) {
        switch key {
        case kSecValueData: try takeValueData(value)
        case kSecValueRef: throw wrongType(key, "a key, certificate or identity")
        default: throw unknown(key)
        }
    }

    mutating func takeValueData(_ value: Any) throws(KeychainFailure) {
        guard let data = value as? Data else { throw wrongType(kSecValueData as String, "data") }
        self.value = data
    }

    mutating func takeUse(_ key: String, _ value: Any) throws(KeychainFailure) {
        switch key {
        case kSecUseAuthenticationUI: try takeUserInterface(value)
        case kSecUseNoAuthenticationUI:
            let input = AttributeInput(value)
            if input != .boolean(false), input != .number(0),
                interaction.userInterface == .allow
            {
                interaction.userInterface = .fail
            }
        case kSecUseOperationPrompt: interaction.prompt = value as? String
        case kSecUseAuthenticationContext:
            let context = value as? any AuthenticationContext
            interaction.context = context.map(Interaction.Context.init)
        case kSecUseUserIndependentKeychain: break
        case kSecUseItemList: throw invalid("kSecUseItemList is not supported")
        default: throw unknown(key)
        }
    }

    private mutating func takeUserInterface(_ value: Any) throws(KeychainFailure) {
        switch AttributeInput(value) {
        case .text(kSecUseAuthenticationUIFail): interaction.userInterface = .fail
        case .text(kSecUseAuthenticationUISkip): interaction.userInterface = .skip
        case .text(kSecUseAuthenticationUIAllow): break
        case .text: throw wrongType(kSecUseAuthenticationUI as String, "one of its three values")
        default: break
        }
    }

    func unknown(_ key: String) -> KeychainFailure {
        invalid("\"\(key)\" is unknown")
    }

    func wrongType(_ key: String, _ expected: String) -> KeychainFailure {
        invalid("\"\(key)\" is not \(expected)")
    }
}

// Match keys (spec/secitem.md §3.6).
extension RequestReader {
    mutating func takeMatch(_ key: String, _ value: Any) throws(KeychainFailure) {
        if key == kSecMatchLimit as String { return limit = try self.limit(value) }
        namesMatches = true
        let input = AttributeInput(value)
        switch key {
        case kSecMatchHostOrSubdomainOfHost:
            guard case .text(let name) = input else { throw wrongType(key, "a string") }
            host = name
        case kSecMatchIssuers:
            guard value is [Any] else { throw wrongType(key, "an array") }
            namesIssuers = true
        case kSecMatchPolicy: throw wrongType(key, "a policy")
        case kSecMatchTrustedOnly:
            guard case .boolean = input else { throw wrongType(key, "a boolean") }
        case kSecMatchEmailAddressIfPresent:
            guard case .text = input else { throw wrongType(key, "a string") }
        case kSecMatchValidOnDate:
            if case .date = input { return }
            guard value is NSNull else { throw wrongType(key, "a date") }
        default: break
        }
    }

    private func limit(_ value: Any) throws(KeychainFailure) -> Limit {
        switch AttributeInput(value) {
        case .text(kSecMatchLimitOne): return .one
        case .text(kSecMatchLimitAll): return .all
        case .number(let number): return .number(number)
        default:
            throw wrongType(kSecMatchLimit as String, "a number or one of its two values")
        }
    }
}

// Attributes: keys of four characters (spec/secitem.md §2.1, §3.1).
extension RequestReader {
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

    /// Checks protection class and access control against each other.
    ///
    /// An access control that names only a class may stand beside that class, because the
    /// attributes of a found item contain both (spec/secitem.md §3.4).
    func checkAccessControl() throws(KeychainFailure) {
        guard let accessControl else { return }
        if let protectionClass, accessControl != AccessControl(plain: protectionClass) {
            throw invalid("kSecAttrAccessible and kSecAttrAccessControl exclude each other")
        }
        guard accessControl.isPlain || synchronizable != .synchronized || !isWritten else {
            throw invalid("an item with an access control cannot be synchronizable")
        }
    }

    /// The class to store: that of the access control, if there is one.
    var storedClass: ProtectionClass? { accessControl?.protectionClass ?? protectionClass }
    /// The access control to store; nil for one that names only a class.
    var storedAccessControl: AccessControl? {
        accessControl.flatMap { $0.isPlain ? nil : $0 }
    }

    /// Whether these attributes will be stored.
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
            // spec/secitem.md §5.2: a value that is not a group is not one of the caller's groups.
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

    /// Whether this dictionary selects the items of a write.
    private var isWriteSearch: Bool {
        !isChanges && (call == .update || call == .delete)
    }

    private func converted(
        _ input: AttributeInput, for attribute: Attribute
    ) throws(KeychainFailure) -> AttributeValue {
        guard let value = attribute.family.value(from: input) else { throw wrongType(attribute) }
        return value
    }

    private func wrongType(_ attribute: Attribute) -> KeychainFailure {
        invalid("the attribute \"\(attribute.rawValue)\" does not take values of this type")
    }
}
