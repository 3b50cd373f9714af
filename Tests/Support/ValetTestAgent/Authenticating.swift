// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Valet
import ValetCoreFoundationNames
import ValetKeychainServices
import ValetSecItem
import ValetSystem
import ValetUserPresence

/// What takes a person, and what does not, through the API that applications have.
enum Authenticating {
    /// Words: `policy REASON`, or of a valet that asks: `set KEY VALUE`, `get KEY REASON`, `can`,
    /// `contains KEY`, `remove KEY`, or without a context `find KEY`; of an item with a password of
    /// the application's, in the service that the command has: `seal KEY VALUE PASSWORD`,
    /// `unseal KEY PASSWORD`; nil for any other.
    static func perform(_ words: [String]) throws -> String? {
        switch words[0] {
        case "policy": return evaluate(words[1])
        case "set": try valet?.setString(words[2], forKey: words[1])
        case "get": return try valet?.string(forKey: words[1], withPrompt: words[2])
        case "find": return find(words[1])
        case "seal": return seal(words[1], words[2], context(words[3]))
        case "unseal": return find(words[1], context(words[2]))
        case "can": return valet.map { "\($0.canAccessKeychain())" }
        case "contains": return try valet.map { "\(try $0.containsObject(forKey: words[1]))" }
        case "remove": try valet?.removeObject(forKey: words[1])
        default: return nil
        }
        return ""
    }

    /// The value of the item of that account, or the status that the search ends with.
    static func find(_ account: String, _ context: LAContext? = nil) -> String {
        var found: CFTypeRef?
        var query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: account, kSecReturnData: true,
        ]
        if let context { query[kSecUseAuthenticationContext] = context }
        let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
        return (found as? Data).map { String(decoding: $0, as: UTF8.self) } ?? "\(status)"
    }

    /// The status of adding an item with a password.
    static func seal(_ account: String, _ value: String, _ context: LAContext) -> String {
        guard
            let accessControl = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenUnlocked, .applicationPassword, nil)
        else { return "no access control" }
        let status = SecItemAdd(
            [
                kSecClass: kSecClassGenericPassword, kSecAttrAccount: account,
                kSecAttrService: "VAL_VALValet_initWithIdentifier:accessibility:_integration_"
                    + "AccessibleWhenUnlocked",
                kSecAttrAccessControl: accessControl, kSecValueData: Data(value.utf8),
                kSecUseAuthenticationContext: context,
            ] as CFDictionary, nil)
        return "\(status)"
    }

    private static func context(_ password: String) -> LAContext {
        let context = LAContext()
        context.setCredential(Data(password.utf8), type: .applicationPassword)
        return context
    }

    private static var valet: SecureEnclaveValet? {
        Identifier(nonEmpty: "integration")
            .map { SecureEnclaveValet.valet(with: $0, accessControl: .userPresence) }
    }

    private static func evaluate(_ reason: String) -> String {
        let (come, said) = (DispatchSemaphore(value: 0), Said())
        LAContext().evaluatePolicy(
            .deviceOwnerAuthentication, localizedReason: reason
        ) { isDone, error in
            said.keep((error as? LAError).map { "\($0.code)" } ?? "\(isDone)")
            come.signal()
        }
        come.wait()
        return said.text
    }

    private final class Said: Sendable {
        private let kept = Mutex("")
        var text: String { kept.withLock { $0 } }
        func keep(_ text: String) { kept.withLock { $0 = text } }
    }
}

/// Looks for a fingerprint reader as an application would.
enum Readers {
    /// `found`, or the error's code.
    static func find() -> String {
        do throws(SystemError) {
            _ = try FingerprintReader().enrolments(until: Deadline(after: .milliseconds(500)))
            return "found"
        } catch {
            return error.code.name
        }
    }
}
