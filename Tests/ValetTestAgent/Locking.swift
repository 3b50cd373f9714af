// SPDX-License-Identifier: Apache-2.0

import Foundation
import KeychainModel
import KeychainServices
import KeychainStore
import SecretMemory
import Valet

/// Passcodes, locks and new keys of the agent's keychain.
enum Locking {
    /// Does what `words` say; nil if that is none of these verbs.
    static func perform(_ verb: String, _ words: [String]) throws -> String? {
        switch verb {
        case "passcode": try store.setPasscode(passcode(words[0]))
        case "change": try store.changePasscode(passcode(words[0]), to: passcode(words[1]))
        case "unlock": try store.unlock(passcode(words[0]))
        case "lock": try store.lock(all: words.first == "all")
        case "rotate": try store.rotateKeys(words.first.map(passcode))
        case "state":
            let status = try store.status()
            return "\(status.state) \(status.lockStateProvider ?? "none")"
        case "tally": return tally(words[0], seconds: Double(words[1]) ?? 1)
        case "access": return "\(Agent.valet.canAccessKeychain())"
        default: return nil
        }
        return ""
    }

    /// The keychain of this process, with passcodes that are soon tried: many are, in tests.
    private static var store: ItemStore {
        get throws { ItemStore(try .ofThisProcess(), stretching: .lowest) }
    }

    private static func passcode(_ text: String) throws -> KeychainPasscode {
        try KeychainPasscode(SecretBytes(copying: Array(text.utf8).span))
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
