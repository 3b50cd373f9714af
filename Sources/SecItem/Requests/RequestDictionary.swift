// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// The contents of a dictionary, each key understood on its own (spec/secitem.md §3.1).
///
/// What a call makes of them, and which it refuses, is up to ``SecItemRequest``'s initialisers.
struct RequestDictionary {
    /// What `kSecAttrSynchronizable` was; `neither` matches nothing.
    enum Synchronizable {
        case local, synchronized, any, neither
    }

    /// What `kSecMatchLimit` was.
    enum Limit: Hashable {
        case one
        case all
        /// As a number; -1 is all of them.
        case number(Int64)
    }

    let call: SecItemCall
    /// Whether this is what an update sets.
    let isChanges: Bool
    let itemClass: ItemClass
    let reference: PersistentReference?

    var attributes: [Attribute: AttributeValue] = [:]
    var accessGroup: AccessGroup?
    var synchronizable: Synchronizable?
    var protectionClass: ProtectionClass?
    var accessControl: AccessControl?
    /// Whether there is any attribute beside `kSecAttrSynchronizableAny`.
    var namesAttributes = false

    var value: Data?
    var returning: ReturnedParts = []
    var limit: Limit?
    /// Whether there is a match key beside the limit.
    var namesMatches = false
    var namesIssuers = false
    var host: String?
    var interaction = Interaction()

    /// Reads the first dictionary of `call`.
    ///
    /// Of several faults the one whose key sorts first is thrown; those of the class go before all.
    init(_ dictionary: [String: Any], for call: SecItemCall) throws(KeychainFailure) {
        try Self.checkSize(of: dictionary, for: call)
        let given = try ClassAndReference(dictionary, for: call)
        self.call = call
        isChanges = false
        itemClass = given.itemClass
        reference = given.reference
        try takeAll(of: dictionary) { (contents, key, value) throws(KeychainFailure) in
            try contents.take(key, value)
        }
    }

    /// Reads the second dictionary of an update, which may hold attributes and a value alone.
    ///
    /// Every other key is `noSuchAttribute` (spec/secitem.md §6).
    init(changes dictionary: [String: Any], of itemClass: ItemClass) throws(KeychainFailure) {
        try Self.checkSize(of: dictionary, for: .update)
        self.call = .update
        isChanges = true
        self.itemClass = itemClass
        reference = nil
        try takeAll(of: dictionary) { (contents, key, value) throws(KeychainFailure) in
            if key == kSecValueData {
                try contents.takeValueData(value)
            } else if key != kSecUseDataProtectionKeychain {
                try contents.takeAttribute(key, value)
            }
        }
    }

    private static func checkSize(
        of dictionary: [String: Any], for call: SecItemCall
    ) throws(KeychainFailure) {
        if dictionary.count > 128 {
            throw call.failure(.invalidRequest, "a dictionary has more than 128 keys")
        }
    }

    private mutating func takeAll(
        of dictionary: [String: Any],
        with take: (inout Self, String, Any) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        var first: (key: String, failure: KeychainFailure)?
        for (key, value) in dictionary {
            do throws(KeychainFailure) {
                try take(&self, key, value)
            } catch {
                if first.map({ key < $0.key }) ?? true { first = (key, error) }
            }
        }
        if let first { throw first.failure }
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

    /// Class and reference were read before; there is but one keychain to use.
    private static let keysOfNoConcern: Set<String> = [
        kSecClass, kSecValuePersistentRef, kSecUseDataProtectionKeychain,
    ]

    /// Whether macOS takes `key` out of a dictionary of this call, where iOS refuses it
    /// (spec/secitem.md §3.3). Its value is not looked at.
    ///
    /// `kSecMatchItemList` and others that say which items are meant are not among them: without
    /// them a call would change or delete items that its caller left out.
    private func isPassedOver(_ key: String) -> Bool {
        switch call {
        case .add: false
        case .copyMatching: reference != nil && Self.keysPassedOverBesideReference.contains(key)
        case .update, .delete: Self.keysPassedOverInWrites.contains(key)
        }
    }

    private static let keysPassedOverBesideReference: Set<String> = [
        kSecAttrSynchronizable, kSecAttrModificationDate,
    ]

    private static let keysPassedOverInWrites: Set<String> = [
        kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef,
        kSecValueData, kSecAttrAccess, kSecMatchLimit, kSecMatchCaseInsensitive,
        kSecMatchDiacriticInsensitive, kSecMatchWidthInsensitive, kSecMatchTrustedOnly,
        kSecMatchValidOnDate, kSecMatchEmailAddressIfPresent, kSecMatchSubjectContains,
        kSecMatchSubjectStartsWith, kSecMatchSubjectEndsWith, kSecMatchSubjectWholeString,
    ]

    /// A request that contradicts itself or has a value of a wrong type.
    func invalid(_ message: String) -> KeychainFailure {
        call.failure(.invalidRequest, message)
    }
}
