// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore

/// What a reader sees while others lock the keychain.
enum Locking {
    /// Does what `words` say; nil for another verb.
    static func perform(_ verb: String, _ words: [String]) -> String? {
        switch verb {
        case "tally": return tally(words[0], seconds: Double(words[1]) ?? 1)
        case "access": return "\(Agent.valet.canAccessKeychain())"
        case "lockstate":
            return answer {
                try KeychainSession.current().store.keychain.availability().state.rawValue
            }
        default: return nil
        }
    }

    /// Reads `key` again and again, in three ways, and a key that is not there; says which answers
    /// there were.
    private static func tally(_ key: String, seconds: Double) -> String {
        var answers: Set<String> = []
        let end = ContinuousClock().now + .milliseconds(Int(seconds * 1000))
        while ContinuousClock().now < end {
            answers.insert("get=" + answer { try Agent.valet.string(forKey: key) })
            answers.insert("absent=" + answer { try Agent.valet.string(forKey: "absent") })
            answers.insert("has=" + answer { "\(try Agent.valet.containsObject(forKey: key))" })
            answers.insert("keys=" + answer { "\(try Agent.valet.allKeys().contains(key))" })
        }
        return answers.sorted().joined(separator: " ")
    }

    private static func answer(_ body: () throws -> String) -> String {
        do {
            return try body().replacingOccurrences(of: " ", with: "-")
        } catch {
            return KeychainFailure.last?.code.rawValue ?? "\(error)"
        }
    }
}
