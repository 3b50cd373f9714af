// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// What a dictionary says of the class of items, by name or by a persistent reference.
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
        let named = try dictionary[kSecClass].map { (value) throws(KeychainFailure) in
            try Self.itemClass(value, for: call)
        }
        reference = try dictionary[kSecValuePersistentRef].map { (value) throws(KeychainFailure) in
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
            "keys, certificates and identities are not kept here")
    }

    private static let unimplementedClasses: Set<String> = [
        kSecClassKey, kSecClassCertificate, kSecClassIdentity,
    ]
}
