// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetAppleKeychainRequests
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetSecItem

@testable internal import Valet

/// An imitation in memory of the SecItem functions, as far as valets use them.
// Sendable because the lock is held wherever state is touched.
final class FakeSecItem: SecItemFunctions, @unchecked Sendable {
    enum Call { case add, copy, update, delete }

    private let lock = NSLock()
    private var items: [[String: Any]] = []
    private var nextReference: UInt8 = 0
    private var faults: [(call: Call, after: Int, status: Int32)] = []
    private var dictionaries: [[String: Any]] = []
    private var questions: [String] = []
    private var answer: Int32 = 0
    private var authenticated: [LAContext] = []

    static let accessGroups = ["app", "ABC.com.example"]
    static let primaryKey = ["acct", "svce", "agrp", "sync"]

    /// Lets `count` calls of a kind work, and the next fail with `status`.
    func fail(_ call: Call, after count: Int = 0, with status: Int32) {
        lock.withLock { faults.append((call, count, status)) }
    }

    /// All dictionaries that came in, in order.
    var received: [[String: Any]] { lock.withLock { dictionaries } }

    /// All items, as they are stored.
    var stored: [[String: Any]] { lock.withLock { items } }

    /// What a person was asked, with the words of the context.
    var prompts: [String] { lock.withLock { questions } }

    /// Sets the user's answer from now on; 0 means that the user authenticates.
    func answer(with status: Int32) {
        lock.withLock { answer = status }
    }

    func add(_ attributes: [String: Any]) -> (status: Int32, result: Any?) {
        lock.withLock {
            if let status = fault(.add, attributes) { return (status, nil) }
            var item = attributes.filter { !$0.key.hasPrefix("r_") && $0.key != "nleg" }
            item["agrp"] = item["agrp"] ?? "app"
            item["sync"] = item["sync"] ?? false
            item["pdmn"] = item["accc"] == nil ? item["pdmn"] ?? "ak" : "akpu"
            let key = item.filter { Self.primaryKey.contains($0.key) }
            guard !items.contains(where: { matches($0, key) }) else { return (-25299, nil) }
            nextReference += 1
            let reference = Data(Array("genp".utf8) + Array(repeating: nextReference, count: 16))
            item["v_PersistentRef"] = reference
            items.append(item)
            return (0, attributes["r_PersistentRef"] == nil ? nil : reference)
        }
    }

    func copy(_ query: [String: Any]) -> (status: Int32, result: Any?) {
        lock.withLock {
            if let status = fault(.copy, query) { return (status, nil) }
            let found = items.filter { selects(query, $0) }
            guard let first = found.first else { return (-25300, nil) }
            if found.contains(where: { $0["accc"] != nil }), let status = ask(query) {
                return (status, nil)
            }
            if query["r_Attributes"] != nil {
                let hidden = query["r_Data"] == nil ? ["v_Data", "class"] : ["class"]
                return (0, found.map { $0.filter { !hidden.contains($0.key) } })
            }
            guard query["r_Data"] != nil else { return (0, nil) }
            // So Apple's keychain answers for an item without a value.
            return first["v_Data"].map { (0, $0) } ?? (-25300, nil)
        }
    }

    func update(_ query: [String: Any], _ changes: [String: Any]) -> Int32 {
        lock.withLock {
            if let status = fault(.update, query) { return status }
            let indices = items.indices.filter { selects(query, items[$0]) }
            if indices.contains(where: { items[$0]["accc"] != nil }), let status = ask(query) {
                return status
            }
            for index in indices { change(&items[index], changes) }
            return indices.isEmpty ? -25300 : 0
        }
    }

    /// A class alone replaces class and access control, and an access control replaces both.
    private func change(_ item: inout [String: Any], _ changes: [String: Any]) {
        if changes["pdmn"] != nil { item["accc"] = nil }
        if changes["accc"] != nil { item["pdmn"] = "akpu" }
        item.merge(changes) { $1 }
    }

    func delete(_ query: [String: Any]) -> Int32 {
        lock.withLock {
            if let status = fault(.delete, query) { return status }
            let count = items.count
            items.removeAll { selects(query, $0) }
            return items.count == count ? -25300 : 0
        }
    }

    /// Why the person does not give access; nil if they do.
    private func ask(_ query: [String: Any]) -> Int32? {
        guard query["u_AuthUI"] == nil else { return -25308 }
        let context = query["u_AuthCtx"] as? LAContext
        if let context, authenticated.contains(where: { $0 === context }) { return nil }
        questions.append(context?.localizedReason ?? "")
        guard answer == 0 else { return answer }
        if let context { authenticated.append(context) }
        return nil
    }

    private func fault(_ call: Call, _ dictionary: [String: Any]) -> Int32? {
        dictionaries.append(dictionary)
        if let group = dictionary["agrp"] as? String, !Self.accessGroups.contains(group) {
            return -34018
        }
        guard let index = faults.firstIndex(where: { $0.call == call }) else { return nil }
        guard faults[index].after == 0 else {
            faults[index].after -= 1
            return nil
        }
        return faults.remove(at: index).status
    }

    private func selects(_ query: [String: Any], _ item: [String: Any]) -> Bool {
        var filter = query.filter {
            Attribute(rawValue: $0.key) != nil || $0.key == "v_PersistentRef"
        }
        if query["sync"] == nil, query["v_PersistentRef"] == nil { filter["sync"] = false }
        if query["sync"] as? String == "syna" { filter["sync"] = nil }
        return matches(item, filter)
    }

    private func matches(_ item: [String: Any], _ filter: [String: Any]) -> Bool {
        filter.allSatisfy { item[$0.key] as? AnyHashable == $0.value as? AnyHashable }
    }
}
