// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetTestSupport

@testable import ValetKeychainServices
@testable import ValetSecItem

/// A keychain for the calls of one rule.
final class RuleKeychain {
    /// The groups of the application that calls, the first of them the default.
    static let groups = ["first", "second", "app"]

    private let keychain = TestKeychain(clock: .ofSystem)
    private var caller = RuleKeychain.groups
    private var kept: [String: Data] = [:]
    private var seen: [String: Date] = [:]

    /// The four calls, made by the application.
    var service: KeychainSession {
        KeychainSession(
            keychain.store,
            Caller(
                applicationIdentifier: caller.last ?? "",
                accessGroups: caller.map { AccessGroup($0) }))
    }

    /// Makes a call; what it answers, in the words of the answer that is expected.
    func answer(_ call: Call) -> String {
        do throws(KeychainFailure) {
            if case .accounts = call.kind { return "\(try accounts())" }
            return words(try object(call), for: call)
        } catch {
            return "\(error.status)"
        }
    }

    /// Makes a call; the code that it answers.
    func status(_ call: Call) -> OSStatus {
        do throws(KeychainFailure) {
            _ = try object(call)
            return errSecSuccess
        } catch {
            return error.status
        }
    }

    private func object(_ call: Call) throws(KeychainFailure) -> AnyObject? {
        switch call.kind {
        case .add(let item): return try service.add(dictionary(item))
        case .copy(let query): return try service.copyMatching(dictionary(query))
        case .update(let query, let changes):
            try service.update(dictionary(query), given(changes))
        case .delete(let query): try service.delete(dictionary(query))
        case .caller(let groups): caller = groups
        case .accounts: break
        }
        return nil
    }

    /// What an object is, seen with the eyes of the answer.
    private func words(_ object: AnyObject?, for call: Call) -> String {
        switch call.answer {
        case .status where object == nil: return Answer.status(errSecSuccess).description
        case .value: if let data = object as? Data { return Answer.value(text(data)).description }
        case .reference:
            if let data = object as? Data, isReference(data) { return Answer.reference.description }
        case .kept:
            if let data = object as? Data, isReference(data), let name = call.reference {
                guard let known = kept.updateValue(data, forKey: name), known != data else {
                    return Answer.kept.description
                }
                return "another reference"
            }
        case .keys:
            if let found = object as? [String: Any] {
                return Answer.keys(keys(of: found)).description
            }
        case .has(let values):
            if let found = object as? [String: Any] { return text(found, values) }
        case .values:
            if let found = object as? [Data] { return Answer.values(found.map(text)).description }
        case .references:
            if let found = object as? [Data], found.allSatisfy(isReference) {
                return Answer.references(found.count).description
            }
        case .list:
            if let found = object as? [[String: Any]], let first = found.first,
                found.allSatisfy({ $0.keys == first.keys })
            {
                return Answer.list(found.count, keys(of: first)).description
            }
        case .dates:
            if let found = object as? [String: Any] { return changes(in: found).description }
        case .texts, .status: break
        }
        return object.map { "\(type(of: $0)) \($0)" } ?? "nothing"
    }

    private func text(_ found: [String: Any], _ values: [String: Any]) -> String {
        Answer.text(found.filter { values[$0.key] != nil })
    }

    private func changes(in found: [String: Any]) -> Answer {
        .dates(
            created: change(of: kSecAttrCreationDate, in: found),
            modified: change(of: kSecAttrModificationDate, in: found))
    }

    /// What became of a date since it was seen last.
    private func change(of constant: NSString, in found: [String: Any]) -> Answer.Change {
        let key = constant as String
        guard let date = found[key] as? Date, let last = seen.updateValue(date, forKey: key) else {
            return .new
        }
        return date == last ? .same : date > last ? .later : .earlier
    }

    /// Access control is not what these rules are about.
    private func keys(of dictionary: [String: Any]) -> Set<String> {
        Set(dictionary.keys).subtracting(["accc"])
    }

    private func isReference(_ data: Data) -> Bool {
        let classes = [Data("genp".utf8), Data("inet".utf8)]
        return data.count == 20 && classes.contains(data.prefix(4))
    }

    private func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }

    private func dictionary(_ keys: Call.Keys) -> NSDictionary {
        given(["class": "genp"].merging(keys) { $1 })
    }

    private func given(_ keys: Call.Keys) -> NSDictionary {
        keys.compactMapValues { value in
            (value as? Kept).map { kept[$0.name] as Any } ?? value
        } as NSDictionary
    }

    private func accounts() throws(KeychainFailure) -> [String] {
        var accounts: [String] = []
        for itemClass in [kSecClassGenericPassword, kSecClassInternetPassword] {
            let query: NSDictionary = [
                kSecClass: itemClass, kSecAttrSynchronizable: kSecAttrSynchronizableAny,
                kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
            ]
            do throws(KeychainFailure) {
                let found = try service.copyMatching(query) as? [NSDictionary] ?? []
                accounts += found.map { $0[kSecAttrAccount] as? String ?? "?" }
            } catch {
                guard error.code == .itemNotFound else { throw error }
            }
        }
        return accounts.sorted()
    }
}
