// SPDX-License-Identifier: Apache-2.0

import CoreFoundationNames
import Foundation
import KeychainServices
import SecItem
import Synchronization
import Valet

/// What takes a person, and what does not, through the API that applications have.
enum Authenticating {
    /// Words: `policy REASON`, or of a valet that asks: `set KEY VALUE`, `get KEY REASON`, `can`,
    /// `contains KEY`, `remove KEY`, or without a context `find KEY`; nil for any other.
    static func perform(_ words: [String]) throws -> String? {
        switch words[0] {
        case "policy": return evaluate(words[1])
        case "set": try valet?.setString(words[2], forKey: words[1])
        case "get": return try valet?.string(forKey: words[1], withPrompt: words[2])
        case "find": return find(words[1])
        case "can": return valet.map { "\($0.canAccessKeychain())" }
        case "contains": return try valet.map { "\(try $0.containsObject(forKey: words[1]))" }
        case "remove": try valet?.removeObject(forKey: words[1])
        default: return nil
        }
        return ""
    }

    /// The value of the item of that account, or the status that the search ends with.
    private static func find(_ account: String) -> String {
        var found: CFTypeRef?
        let status = unsafe SecItemCopyMatching(
            [
                kSecClass: kSecClassGenericPassword, kSecAttrAccount: account,
                kSecReturnData: true,
            ], &found)
        return (found as? Data).map { String(decoding: $0, as: UTF8.self) } ?? "\(status)"
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
