// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetSecItem

@testable internal import KeychainSwift

/// A subclass that overrides whatever it may.
// Sendable because the lock guards what it has heard.
private final class Loud: KeychainSwift, @unchecked Sendable {
    private let lock = NSLock()
    private var words: [String] = []

    var heard: [String] { lock.withLock { words } }

    private func hear(_ word: String) {
        lock.withLock { words.append(word) }
    }

    override var lastResultCode: OSStatus {
        get { super.lastResultCode }
        set {
            hear("code \(newValue)")
            super.lastResultCode = newValue
        }
    }

    override var accessGroup: String? {
        get { super.accessGroup }
        set { super.accessGroup = newValue }
    }

    override var synchronizable: Bool {
        get { super.synchronizable }
        set { super.synchronizable = newValue }
    }

    override func set(
        _ value: String, forKey key: String, withAccess access: KeychainSwiftAccessOptions? = nil
    ) -> Bool {
        hear("text")
        return super.set(value, forKey: key, withAccess: access)
    }

    override func set(
        _ value: Data, forKey key: String, withAccess access: KeychainSwiftAccessOptions? = nil
    ) -> Bool {
        hear("data")
        return super.set(value + [0x21], forKey: key, withAccess: access)
    }

    override func set(
        _ value: Bool, forKey key: String, withAccess access: KeychainSwiftAccessOptions? = nil
    ) -> Bool {
        hear("bool")
        return super.set(value, forKey: key, withAccess: access)
    }

    override func get(_ key: String) -> String? { super.get(key)?.uppercased() }

    override func getData(_ key: String, asReference: Bool = false) -> Data? {
        hear("getData")
        return super.getData(key, asReference: asReference)
    }

    override func getBool(_ key: String) -> Bool? { super.getBool(key) }

    override func delete(_ key: String) -> Bool {
        hear("delete")
        return super.delete(key)
    }

    override func clear() -> Bool { super.clear() }
}

@Suite struct `A subclass of KeychainSwift` {
    @Test(arguments: Way.all)
    func `A subclass of KeychainSwift sees each call, including those between methods`(_ way: Way) {
        let keychain = Loud(keyPrefix: UUID().uuidString)
        keychain.keychain = way.passwords
        #expect(keychain.set("text", forKey: "key"))
        #expect(keychain.get("key") == "TEXT!")
        #expect(keychain.set(true, forKey: "bool"))
        #expect(keychain.getBool("bool") == true)
        #expect(keychain.delete("key"))
        #expect(
            keychain.heard == [
                "text", "data", "code 0", "getData", "code 0", "code 0",
                "bool", "data", "code 0", "getData", "code 0", "code 0", "delete", "code 0",
            ])
    }

    @Test func `A subclass of KeychainSwift is not called by the throwing methods`() throws {
        let keychain = Loud(keyPrefix: UUID().uuidString)
        keychain.keychain = Way.store.passwords
        guard !Way.all.isEmpty else { return }
        try keychain.throwing.set("text", forKey: "key")
        #expect(try keychain.throwing.get("key") == "text")
        #expect(keychain.heard == [])
    }
}

@Suite struct `KeychainSwift in threads` {
    // Promise: 13.11
    @Test(arguments: Way.all)
    func `KeychainSwift always has a value while threads replace it`(_ way: Way) async {
        let keychain = Sample(way).keychain()
        let options: [KeychainSwiftAccessOptions] = [
            .accessibleWhenUnlocked, .accessibleAfterFirstUnlock,
        ]
        keychain.set("start", forKey: "key")
        let misses = await withTaskGroup(of: Int.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    var misses = 0
                    for round in 0..<25 {
                        guard thread < 3 else {
                            if keychain.get("key") == nil { misses += 1 }
                            continue
                        }
                        let access = options[(thread + round) % 2]
                        if !keychain.set("\(thread) \(round)", forKey: "key", withAccess: access) {
                            misses += 1
                        }
                    }
                    return misses
                }
            }
            return await group.reduce(0, +)
        }
        #expect(misses == 0)
        #expect(keychain.get("key") != nil)
    }

    @Test func `KeychainSwift keeps its settings consistent while threads change them`() async {
        let keychain = KeychainSwift()
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    for round in 0..<1000 {
                        keychain.accessGroup = round.isMultiple(of: 2) ? nil : "group \(thread)"
                        keychain.synchronizable.toggle()
                        keychain.lastResultCode = Int32(round)
                        _ = (keychain.accessGroup, keychain.lastResultCode)
                    }
                }
            }
        }
        #expect(keychain.accessGroup?.hasPrefix("group ") ?? true)
        #expect((0..<1000).contains(keychain.lastResultCode))
    }
}

@Suite struct `KeychainSwift, throwing` {
    @Test(arguments: Way.all)
    func `A throwing method of KeychainSwift throws the reason`(_ way: Way) {
        let throwing = Sample(way).keychain().throwing
        let absent = #expect(throws: KeychainFailure.self) { try throwing.get("key") }
        #expect(absent?.code == .itemNotFound)
        #expect(
            #expect(throws: KeychainFailure.self) { try throwing.delete("key") }?.code
                == .itemNotFound)
        let foreign = Sample(way).keychain(group: "someone else's").throwing
        let refused = #expect(throws: KeychainFailure.self) {
            try foreign.set(true, forKey: "key")
        }
        #expect(refused?.status == errSecMissingEntitlement)
        #expect(refused?.operation != "")
    }

    @Test(arguments: Way.all)
    func `The throwing methods of KeychainSwift do what the other methods do`(_ way: Way) throws {
        let sample = Sample(way)
        let keychain = sample.keychain()
        keychain.lastResultCode = 7
        try keychain.throwing.set("text", forKey: "a", withAccess: .accessibleAfterFirstUnlock)
        try keychain.throwing.set(Data([0xFF]), forKey: "b")
        try keychain.throwing.set(true, forKey: "c")
        #expect(try keychain.throwing.get("a") == "text")
        #expect(try keychain.throwing.getBool("c"))
        #expect(try keychain.throwing.getData("c", asReference: true).count == 20)
        #expect(try keychain.throwing.allKeys().filter { $0.hasPrefix(sample.prefix) }.count == 3)
        let wrong = #expect(throws: KeychainFailure.self) { try keychain.throwing.get("b") }
        #expect(wrong?.code == .invalidEncoding)
        try keychain.throwing.delete("a")
        #expect(keychain.lastResultCode == 7)
    }
}

@Suite struct `The constants and older names of KeychainSwift` {
    @Test func `The constants of KeychainSwift are those of SecItem`() {
        typealias Words = KeychainSwiftConstants
        #expect(Words.accessGroup == kSecAttrAccessGroup as String)
        #expect(Words.accessible == kSecAttrAccessible as String)
        #expect(Words.attrAccount == kSecAttrAccount as String)
        #expect(Words.attrSynchronizable == kSecAttrSynchronizable as String)
        #expect(Words.klass == kSecClass as String)
        #expect(Words.matchLimit == kSecMatchLimit as String)
        #expect(Words.returnData == kSecReturnData as String)
        #expect(Words.valueData == kSecValueData as String)
        #expect(Words.returnReference == kSecReturnPersistentRef as String)
        #expect(Words.returnAttributes == kSecReturnAttributes as String)
        #expect(Words.secMatchLimitAll == kSecMatchLimitAll as String)
    }

    @available(*, deprecated) private var oldNames: [KeychainSwiftAccessOptions] {
        [
            .AccessibleWhenUnlocked, .AccessibleWhenUnlockedThisDeviceOnly,
            .AccessibleAfterFirstUnlock, .AccessibleAfterFirstUnlockThisDeviceOnly,
            .AccessibleWhenPasscodeSetThisDeviceOnly,
            .AccessibleAlways, .AccessibleAlwaysThisDeviceOnly,
            .accessibleAlways, .accessibleAlwaysThisDeviceOnly,
        ]
    }

    @available(*, deprecated)
    @Test func `The older names of KeychainSwift's access options mean the same`() {
        #expect(
            oldNames == [
                .accessibleWhenUnlocked, .accessibleWhenUnlockedThisDeviceOnly,
                .accessibleAfterFirstUnlock, .accessibleAfterFirstUnlockThisDeviceOnly,
                .accessibleWhenPasscodeSetThisDeviceOnly,
                .accessibleAfterFirstUnlock, .accessibleAfterFirstUnlockThisDeviceOnly,
                .accessibleAfterFirstUnlock, .accessibleAfterFirstUnlockThisDeviceOnly,
            ])
    }
}
