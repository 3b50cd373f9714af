// SPDX-License-Identifier: Apache-2.0

import Foundation
import Security
import Testing

// No `@testable` and no module but those that code for Apple's systems imports.
@Suite struct `Code for Apple's systems` {
    @Test func `Code for Apple's systems may write queries in every customary way`() {
        let any: [String: Any] = [kSecClass as String: kSecClassKey]
        let keyed: [CFString: Any] = [kSecClass: kSecClassKey]
        let objects: [String: AnyObject] = [String(kSecClass): kSecClassKey as NSString]
        let hashable: [String: AnyHashable] = [kSecClass as String: kSecClassKey]
        let literal = [kSecClass: kSecClassKey, kSecReturnData: true] as CFDictionary
        let typed: [String: Any] = [String(kSecClass): kSecClassKey as CFString]
        let queries: [CFDictionary] = [
            any as CFDictionary, keyed as CFDictionary, objects as CFDictionary,
            hashable as CFDictionary, literal, typed as CFDictionary,
        ]
        for query in queries {
            #expect(SecItemDelete(query) == errSecItemNotFound)
        }
    }

    @Test func `Code for Apple's systems may convert a literal of many constants`() {
        let texts = [
            kSecClass, kSecAttrAccount, kSecAttrService, kSecAttrServer, kSecAttrPort, kSecAttrPath,
            kSecAttrLabel, kSecAttrGeneric, kSecAttrComment, kSecAttrCreator, kSecAttrType,
            kSecAttrProtocol, kSecAttrAccessGroup, kSecAttrAccessible, kSecAttrSynchronizable,
            kSecValueData, kSecReturnData, kSecReturnAttributes, kSecMatchLimit,
        ].map { $0 as String }
        #expect(Set(texts).count == 19)
    }

    @Test func `Code for Apple's systems may write Booleans in every customary way`() {
        var query: [String: Any] = [kSecClass as String: kSecClassKey]
        query[kSecReturnData as String] = kCFBooleanTrue
        query[kSecReturnAttributes as String] = kCFBooleanTrue!
        query[kSecReturnRef as String] = true as CFBoolean
        let objects: [String: AnyObject] = ["a": kCFBooleanFalse]
        #expect(query.count + objects.count == 5)
    }

    @Test func `Code for Apple's systems may pass results and buffers as pointers`() {
        let query: [String: Any] = [kSecClass as String: kSecClassKey]
        var item: CFTypeRef?
        var object: AnyObject?
        #expect(unsafe SecItemCopyMatching(query as CFDictionary, &item) == errSecItemNotFound)
        #expect(unsafe SecItemAdd(query as CFDictionary, &object) == errSecUnimplemented)
        #expect(SecItemAdd(query as CFDictionary, nil) == errSecUnimplemented)
        let status = unsafe withUnsafeMutablePointer(to: &item) {
            unsafe SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
        }
        #expect(status == errSecItemNotFound)
        #expect(item == nil)
    }

    @Test func `Code for Apple's systems may ask for the message of a code`() {
        #expect(SecCopyErrorMessageString(errSecItemNotFound, nil) == "No item matches.")
        #expect(SecCopyErrorMessageString(-12345, nil) == "OSStatus -12345")
        let text = SecCopyErrorMessageString(errSecParam, nil) as String?
        #expect(text != nil)
    }

    @Test func `Code for Apple's systems may switch over codes`() {
        let status: OSStatus = SecItemUpdate([:] as CFDictionary, [:] as CFDictionary)
        switch status {
        case errSecSuccess, noErr: Issue.record("an empty query worked")
        case errSecParam: break
        default: Issue.record("unexpected \(status)")
        }
    }

    @Test func `Code for Apple's systems gets random bytes`() {
        var bytes = [UInt8](repeating: 0, count: 64)
        let status = unsafe SecRandomCopyBytes(kSecRandomDefault, bytes.count, &bytes)
        #expect(status == errSecSuccess)
        #expect(bytes != [UInt8](repeating: 0, count: 64))
    }

    @Test func `Code for Apple's systems gets no more random bytes than requested`() {
        var bytes = [UInt8](repeating: 0, count: 64)
        #expect(unsafe SecRandomCopyBytes(nil, 32, &bytes) == errSecSuccess)
        #expect(bytes[32...].allSatisfy { $0 == 0 })
        #expect(unsafe SecRandomCopyBytes(nil, 0, &bytes) == errSecSuccess)
        #expect(unsafe SecRandomCopyBytes(nil, -1, &bytes) == errSecParam)
    }

    @Test func `Code for Apple's systems may fill data with random bytes`() {
        var data = Data(count: 16)
        let status = unsafe data.withUnsafeMutableBytes {
            unsafe SecRandomCopyBytes(kSecRandomDefault, 16, $0.baseAddress!)
        }
        #expect(status == errSecSuccess)
        #expect(data != Data(count: 16))
    }

    @Test func `Code for Apple's systems may name types and keys of certificates`() {
        func identity(in items: [[String: Any]]) -> (SecIdentity, [SecCertificate])? {
            guard let found = items.first?[kSecImportItemIdentity as String] else { return nil }
            guard let identity = found as? SecIdentity else { return nil }
            let chain = items.first?[kSecImportItemCertChain as String] as? [SecCertificate]
            return (identity, chain ?? [])
        }
        func store(_ key: SecKey?, _ trust: SecTrust?, _ access: SecAccess?) -> OSStatus {
            guard let key else { return errSecInvalidCertificateRef }
            return SecItemAdd([kSecValueRef: key] as CFDictionary, nil)
        }
        let options = [kSecImportExportPassphrase: "x"] as CFDictionary
        #expect(options.count == 1)
        #expect(identity(in: [[kSecImportItemLabel as String: "x"]]) == nil)
        #expect(store(nil, nil, nil) == -67690)
        let numbers: Set<CFTypeID> = [
            SecKeyGetTypeID(), SecCertificateGetTypeID(), SecIdentityGetTypeID(),
            SecTrustGetTypeID(), SecAccessGetTypeID(), SecAccessControlGetTypeID(),
            CFDataGetTypeID(),
        ]
        #expect(numbers.count == 7)
    }

    @Test func `Code for Apple's systems finds no cryptographic key and adds none`() {
        for itemClass in [kSecClassKey, kSecClassCertificate, kSecClassIdentity] {
            let query = [kSecClass: itemClass] as CFDictionary
            #expect(SecItemUpdate(query, [:] as CFDictionary) == errSecItemNotFound)
            #expect(SecItemDelete(query) == errSecItemNotFound)
            #expect(SecItemAdd(query, nil) == errSecUnimplemented)
        }
    }

    @Test func `Code for Linux may read the last failure in full`() {
        _ = SecItemDelete([kSecClass: kSecClassKey] as CFDictionary)
        #expect(KeychainFailure.last?.code == .itemNotFound)
        #expect(KeychainFailure.last?.operation == "delete items")
        #expect(
            KeychainFailure.last?.message == "keys, certificates and identities are not supported")
        _ = SecItemAdd([kSecClass: kSecClassKey] as CFDictionary, nil)
        #expect(KeychainFailure.last?.code == .unimplemented)
    }
}
