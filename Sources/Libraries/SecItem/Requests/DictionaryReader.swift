// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetKeychainServices

/// The contents of a dictionary, with each key read on its own (spec/secitem.md §3.1).
///
/// The initialisers of the requests in `TypedRequests.swift` decide what a call does with them.
struct DictionaryReader {
    /// The value of `kSecAttrSynchronizable`; `neither` matches nothing.
    enum Synchronizable {
        case local, synchronized, any, neither
    }

    enum Limit: Hashable {
        case one
        case all
        /// A number; -1 means all.
        case number(Int64)
    }

    let call: SecItemCall
    /// Whether this is the second dictionary of an update.
    let isChanges: Bool
    let itemClass: ItemClass
    let reference: PersistentReference?

    var attributes: ItemAttributes = [:]
    var accessGroup: AccessGroup?
    var synchronizable: Synchronizable?
    var protectionClass: ProtectionClass?
    var accessControl: AccessControl?
    /// Whether there is any attribute except `kSecAttrSynchronizableAny`.
    var namesAttributes = false

    var value: Data?
    var returning: ReturnedParts = []
    var limit: Limit?
    /// Whether there is a match key other than the limit.
    var namesMatches = false
    var namesIssuers = false
    var host: String?
    /// Whether the user may be asked, and with what words (spec/secitem.md §10.5).
    var policy = AuthenticationPolicy()

    /// Reads the first dictionary of `call`.
    ///
    /// If there are several faults, it throws the one whose key sorts first. Faults of the class
    /// come before all others.
    init(_ dictionary: NSDictionary, for call: SecItemCall) throws(KeychainFailure) {
        let contents = try Contents(dictionary, for: call)
        let given = try ClassAndReference(contents.values, for: call)
        self.call = call
        isChanges = false
        itemClass = given.itemClass
        reference = given.reference
        try takeAll(of: contents) { (reader, key, value) throws(KeychainFailure) in
            try reader.take(key, value)
        }
    }

    /// Reads the second dictionary of an update, which may hold only attributes and a value.
    ///
    /// Other keys are `noSuchAttribute`, except those that every call ignores, and `invalidRequest`
    /// if they are not strings (spec/secitem.md §6).
    init(changes dictionary: NSDictionary, of itemClass: ItemClass) throws(KeychainFailure) {
        let contents = try Contents(dictionary, for: .update)
        self.call = .update
        isChanges = true
        self.itemClass = itemClass
        reference = nil
        try takeAll(of: contents) { (reader, key, value) throws(KeychainFailure) in
            switch key {
            case kSecValueData: try reader.takeValueData(value)
            case kSecUseDataProtectionKeychain: break
            default: try reader.takeAttribute(key, value)
            }
        }
    }

    /// A dictionary by those of its keys that are strings.
    private struct Contents {
        var values: [String: Any] = [:]
        /// A key that is no string.
        var otherKey: Any?

        init(_ dictionary: NSDictionary, for call: SecItemCall) throws(KeychainFailure) {
            if dictionary.count > 128 {
                throw call.failure(.invalidRequest, "a dictionary has more than 128 keys")
            }
            values.reserveCapacity(dictionary.count)
            for (key, value) in dictionary {
                if let key = key as? String { values[key] = value } else { otherKey = key }
            }
        }
    }

    private mutating func takeAll(
        of contents: Contents,
        with take: (inout Self, String, Any) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        var first: (key: String, failure: KeychainFailure)?
        for (key, value) in contents.values {
            do {
                try take(&self, key, value)
            } catch {
                if first.map({ key < $0.key }) ?? true { first = (key, error) }
            }
        }
        if let first { throw first.failure }
        if let key = contents.otherKey {
            // A number is looked up as the name of an attribute.
            throw call.failure(
                key is NSNumber && !isChanges ? .noSuchAttribute : .invalidRequest,
                "a key of the dictionary is no string: \(type(of: key))")
        }
        try checkAccessControl()
    }

    private mutating func take(_ key: String, _ value: Any) throws(KeychainFailure) {
        if Self.keysOfNoConcern.contains(key) || isPassedOver(key) { return }
        if key.utf16.count == 4 { return try takeAttribute(key, value) }
        switch key.utf8.first {
        case UInt8(ascii: "m"): try takeMatch(key, value)
        case UInt8(ascii: "r"): try takeReturn(key, value)
        case UInt8(ascii: "u"): try takeUse(key, value)
        case UInt8(ascii: "v"): try takeValue(key, value)
        case UInt8(ascii: "f"): break
        default: throw invalid("\"\(key)\" is not a key of such a dictionary")
        }
    }

    /// Class and reference are read earlier, and there is only one keychain to use.
    private static let keysOfNoConcern = texts([
        kSecClass, kSecValuePersistentRef, kSecUseDataProtectionKeychain,
    ])

    /// Whether macOS ignores `key` in a dictionary of this call, where iOS refuses it
    /// (spec/secitem.md §3.3). Its value is ignored as well.
    ///
    /// Keys that select items, such as `kSecMatchItemList`, are not among them: without them a call
    /// would change or delete items that its caller excluded.
    private func isPassedOver(_ key: String) -> Bool {
        switch call {
        case .add: false
        case .copyMatching: reference != nil && Self.keysPassedOverBesideReference.contains(key)
        case .update, .delete: Self.keysPassedOverInWrites.contains(key)
        }
    }

    private static let keysPassedOverBesideReference = texts([
        kSecAttrSynchronizable, kSecAttrModificationDate,
    ])

    private static let keysPassedOverInWrites = texts([
        kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef,
        kSecValueData, kSecAttrAccess, kSecMatchLimit, kSecMatchCaseInsensitive,
        kSecMatchDiacriticInsensitive, kSecMatchWidthInsensitive, kSecMatchTrustedOnly,
        kSecMatchValidOnDate, kSecMatchEmailAddressIfPresent, kSecMatchSubjectContains,
        kSecMatchSubjectStartsWith, kSecMatchSubjectEndsWith, kSecMatchSubjectWholeString,
    ])

    func invalid(_ message: String) -> KeychainFailure {
        call.failure(.invalidRequest, message)
    }
}

/// The class of items in a dictionary, from its name or a persistent reference.
///
/// spec/secitem.md §3.2, §8.
struct ClassAndReference {
    let itemClass: ItemClass
    let reference: PersistentReference?

    /// Reads both.
    ///
    /// - Throws: `invalidRequest` if there is neither; `noSuchClass` if the class is unknown or not
    ///   that of the reference; for keys, certificates and identities `unimplemented` where one is
    ///   added, else `itemNotFound`, as in a keychain that has none.
    init(_ dictionary: [String: Any], for call: SecItemCall) throws(KeychainFailure) {
        let named = try dictionary[kSecClass as String].map { (value) throws(KeychainFailure) in
            try Self.itemClass(value, for: call)
        }
        let given = dictionary[kSecValuePersistentRef as String]
        reference = try given.map { (value) throws(KeychainFailure) in
            try Self.reference(value, named, for: call)
        }
        guard let itemClass = named ?? reference?.itemClass else {
            throw call.failure(.invalidRequest, "kSecClass is missing")
        }
        self.itemClass = itemClass
    }

    private static func itemClass(
        _ value: Any, for call: SecItemCall
    ) throws(KeychainFailure) -> ItemClass {
        guard case .text(let code) = AttributeInput(value) else {
            throw call.failure(.noSuchClass, "kSecClass is not one of the classes")
        }
        if let itemClass = ItemClass(code: code) { return itemClass }
        if unimplementedClasses.contains(code) { throw notKept(call) }
        throw call.failure(.noSuchClass, "kSecClass is not one of the classes")
    }

    private static func reference(
        _ value: Any, _ named: ItemClass?, for call: SecItemCall
    ) throws(KeychainFailure) -> PersistentReference {
        guard case .bytes(let bytes) = AttributeInput(value),
            bytes.count == PersistentReference.byteCount
        else { throw malformed(call) }
        let code = String(decoding: bytes[..<4], as: UTF8.self)
        let isOfAnotherKind = unimplementedClasses.contains(code)
        if isOfAnotherKind && named == nil { throw notKept(call) }
        guard let reference = PersistentReference(bytes: bytes) else {
            if isOfAnotherKind { throw mismatch(call) }
            throw malformed(call)
        }
        if let named, named != reference.itemClass { throw mismatch(call) }
        return reference
    }

    private static func malformed(_ call: SecItemCall) -> KeychainFailure {
        call.failure(.invalidRequest, "kSecValuePersistentRef is not a persistent reference")
    }

    private static func mismatch(_ call: SecItemCall) -> KeychainFailure {
        call.failure(.noSuchClass, "kSecValuePersistentRef is of another class than kSecClass")
    }

    private static func notKept(_ call: SecItemCall) -> KeychainFailure {
        call.failure(
            call == .add ? .unimplemented : .itemNotFound,
            "keys, certificates and identities are not supported")
    }

    private static let unimplementedClasses = texts([
        kSecClassKey, kSecClassCertificate, kSecClassIdentity,
    ])
}

private func texts(_ constants: [NSString]) -> Set<String> {
    Set(constants.map { $0 as String })
}

/// Whether `text` is the text of `constant`, so that a `switch` over strings can have constants as
/// cases.
func ~= (constant: NSString, text: String) -> Bool { constant as String == text }

extension AttributeInput {
    /// A value of a dictionary, as one of the types that attributes take.
    ///
    /// Values may be boxed in `AnyHashable` or an optional. A boolean is a `Bool` or an `NSNumber`
    /// made of one; the number 1 is not (spec/secitem.md §3.1).
    init(_ value: Any) {
        if let text = value as? String {
            self = .text(text)
        } else if let data = value as? Data {
            self = .bytes([UInt8](data))
        } else if let number = value as? NSNumber {
            self.init(number)
        } else if let date = value as? Date, date.timeIntervalSinceReferenceDate.isFinite {
            self = .date(date.timeIntervalSinceReferenceDate)
        } else if let uuid = value as? UUID {
            self = .uuid(uuid.uuidString)
        } else {
            self = .unsupported
        }
    }

    private init(_ number: NSNumber) {
        // The two booleans are objects that no number is identical to.
        if number === Self.yes {
            self = .boolean(true)
        } else if number === Self.no {
            self = .boolean(false)
        } else if Double(number.int64Value) == number.doubleValue {
            self = .number(number.int64Value)
        } else {
            self = .unsupported
        }
    }

    private static let yes = NSNumber(value: true)
    private static let no = NSNumber(value: false)
}

// Return flags, values, and `kSecUse…` keys (spec/secitem.md §3.1, §10.5).
extension DictionaryReader {
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
            let isOff = [.boolean(false), .number(0)].contains(AttributeInput(value))
            if !isOff, policy.userInterface == .allow { policy.userInterface = .fail }
        case kSecUseOperationPrompt: policy.reason = value as? String
        case kSecUseAuthenticationContext:
            policy.authenticator = (value as? any AuthenticationContext)?.asking
        case kSecUseUserIndependentKeychain: break
        case kSecUseItemList: throw invalid("kSecUseItemList is not supported")
        default: throw unknown(key)
        }
    }

    private mutating func takeUserInterface(_ value: Any) throws(KeychainFailure) {
        switch AttributeInput(value) {
        case .text(kSecUseAuthenticationUIFail): policy.userInterface = .fail
        case .text(kSecUseAuthenticationUISkip): policy.userInterface = .skip
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
extension DictionaryReader {
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
extension DictionaryReader {
    mutating func takeAttribute(_ key: String, _ value: Any) throws(KeychainFailure) {
        guard let attribute = Attribute(requestKey: key), attribute.exists(in: itemClass) else {
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
