// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Foundation
internal import KeychainSwift
internal import Security
internal import Synchronization
internal import Testing
internal import Valet
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetTesting

/// One way of storing and reading a text under a key.
enum Door: CaseIterable, Codable {
    case valet, keychainSwift, secItem

    /// Stores "x"; the code, as far as the door tells it.
    @discardableResult
    func set(_ key: String, whileLocked: Bool = false) -> OSStatus {
        switch self {
        case .valet:
            return code { try valet(whileLocked).setString("x", forKey: key) }
        case .keychainSwift:
            let keychain = KeychainSwift()
            keychain.set(
                "x", forKey: key,
                withAccess: whileLocked ? .accessibleAfterFirstUnlock : nil)
            return keychain.lastResultCode
        case .secItem:
            var item: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrAccount: key,
                kSecValueData: Data("x".utf8),
            ]
            if whileLocked { item[kSecAttrAccessible] = kSecAttrAccessibleAfterFirstUnlock }
            return SecItemAdd(item as CFDictionary, nil)
        }
    }

    /// Reads; the code, as far as the door tells it.
    func get(_ key: String, whileLocked: Bool = false) -> OSStatus {
        switch self {
        case .valet: return code { _ = try valet(whileLocked).string(forKey: key) }
        case .keychainSwift:
            let keychain = KeychainSwift()
            _ = keychain.get(key)
            return keychain.lastResultCode
        case .secItem:
            var result: CFTypeRef?
            let query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrAccount: key, kSecReturnData: true,
            ]
            return unsafe SecItemCopyMatching(query as CFDictionary, &result)
        }
    }

    /// The code of what `body` throws, by the thread's last failure.
    private func code(_ body: () throws -> Void) -> OSStatus {
        do {
            try body()
            return noErr
        } catch {
            return KeychainFailure.last?.status ?? errSecInternalComponent
        }
    }

    private func valet(_ whileLocked: Bool) -> Valet {
        guard let identifier = Identifier(nonEmpty: "door") else {
            preconditionFailure("an empty identifier")
        }
        return .valet(
            with: identifier, accessibility: whileLocked ? .afterFirstUnlock : .whenUnlocked)
    }
}

/// Where a call of a test is made by mistake.
enum Outside: CaseIterable, Codable {
    case withoutUse, withoutReference, afterUse, afterFunction, afterRemoval, betweenSeveral
    case onThread

    /// Runs `body` there.
    func running<R: Sendable>(_ body: @escaping @Sendable () -> R) -> R {
        let keychain = TemporaryKeychain()
        switch self {
        case .withoutUse: break
        case .withoutReference: _ = TemporaryKeychain()
        case .afterUse: keychain.use { Door.valet.set("other") }
        case .afterFunction: withTemporaryKeychain { _ = Door.valet.set("other") }
        case .afterRemoval: keychain.remove()
        case .betweenSeveral:
            let other = TemporaryKeychain()
            keychain.use { other.use { Door.valet.set("other") } }
        case .onThread: return keychain.use { Self.onThread(body) }
        }
        return withExtendedLifetime(keychain, body)
    }

    private static func onThread<R: Sendable>(_ body: @escaping @Sendable () -> R) -> R {
        let result = Mutex<R?>(nil)
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let value = body()
            result.withLock { $0 = value }
            isDone.signal()
        }
        isDone.wait()
        guard let value = result.withLock({ $0 }) else { preconditionFailure("no result") }
        return value
    }
}

@Suite struct `A temporary keychain` {
    // Promise: 12.2
    @Test(arguments: Door.allCases, [TemporaryKeychain.Storage.memory, .disk])
    func `A temporary keychain is empty, stores items, and is removed afterwards`(
        _ door: Door, _ storage: TemporaryKeychain.Storage
    ) throws {
        let folder = try withTemporaryKeychain(storage) {
            #expect(door.get("key") == errSecItemNotFound)
            #expect(door.set("key") == noErr)
            #expect(door.get("key") == noErr)
            let folder = try #require(TemporaryKeychain.current?.folder)
            #expect(FileManager.default.fileExists(atPath: folder + "/keychain.db"))
            return folder
        }
        #expect(TemporaryKeychain.current == nil)
        #expect(!FileManager.default.fileExists(atPath: folder))
        withTemporaryKeychain { #expect(door.get("key") == errSecItemNotFound) }
    }

    @Test func `A temporary keychain is in memory if the system has room`() {
        let keychain = TemporaryKeychain(.memory)
        let hasMemory = FileManager.default.isWritableFile(atPath: "/dev/shm")
        #expect(keychain.folder.hasPrefix("/dev/shm/") == hasMemory)
        let temporary = FileManager.default.temporaryDirectory.path
        #expect(TemporaryKeychain(.disk).folder.hasPrefix(temporary))
    }

    // Promise: 12.2
    @Test func `A temporary keychain has a folder that other users cannot read`() throws {
        try withTemporaryKeychain {
            Door.valet.set("key")
            let folder = try #require(TemporaryKeychain.current?.folder)
            let attributes = try FileManager.default.attributesOfItem(atPath: folder)
            #expect(attributes[.posixPermissions] as? Int == 0o700)
        }
    }

    @Test(arguments: Door.allCases)
    func `Each task with a temporary keychain has its own`(_ door: Door) async {
        let codes = await withTaskGroup(of: [OSStatus].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    await withTemporaryKeychain {
                        let first = door.set("key")
                        await Task.yield()
                        return [first, door.get("key"), door.get("other")]
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes == Array(repeating: [0, 0, errSecItemNotFound], count: 8))
    }

    @Test(arguments: Door.allCases)
    func `Child tasks inherit a temporary keychain, and other threads can be handed it`(
        _ door: Door
    ) async throws {
        try await withTemporaryKeychain {
            #expect(door.set("key") == noErr)
            async let child = door.get("key")
            #expect(await child == noErr)
            #expect(await Task { door.get("key") }.value == noErr)
            let keychain = try #require(TemporaryKeychain.current)
            let detached = Task.detached { keychain.use { door.get("key") } }
            #expect(await detached.value == noErr)
        }
    }

    @Test func `A temporary keychain inside another is a separate one`() {
        withTemporaryKeychain {
            Door.valet.set("key")
            withTemporaryKeychain { #expect(Door.valet.get("key") == errSecItemNotFound) }
            #expect(Door.valet.get("key") == noErr)
        }
    }

    @Test func `Using a temporary keychain rethrows the error of the closure`() async {
        struct Mistake: Error, Equatable {}
        #expect(throws: Mistake()) {
            try withTemporaryKeychain { () throws(Mistake) in throw Mistake() }
        }
        await #expect(throws: Mistake()) {
            try await withTemporaryKeychain { () async throws(Mistake) in throw Mistake() }
        }
    }

    @Test(arguments: Door.allCases)
    func `A temporary keychain refuses calls after its end`(_ door: Door) {
        let keychain = TemporaryKeychain()
        keychain.use {
            #expect(door.set("key") == noErr)
            keychain.remove()
            #expect(door.get("key") == errSecParam)
            #expect(door.set("key") == errSecParam)
        }
        #expect(!FileManager.default.fileExists(atPath: keychain.folder))
    }

    @Test func `A temporary keychain removes its files when it is released`() {
        var keychain: TemporaryKeychain? = TemporaryKeychain()
        let folder = keychain?.folder ?? ""
        keychain?.use { _ = Door.valet.set("key") }
        #expect(FileManager.default.fileExists(atPath: folder))
        keychain = nil
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test func `A temporary keychain has exactly the groups that it is created with`() {
        withTemporaryKeychain(applicationIdentifier: "app", accessGroups: ["shared"]) {
            let keychain = KeychainSwift()
            for group in ["shared", "app"] {
                keychain.accessGroup = group
                #expect(keychain.set(group, forKey: "key"))
            }
            keychain.accessGroup = "other"
            #expect(!keychain.set("x", forKey: "key"))
            #expect(keychain.lastResultCode == errSecMissingEntitlement)
        }
    }

    @Test(arguments: Door.allCases, Outside.allCases)
    func `Calls outside of a temporary keychain never reach the user's keychain`(
        _ door: Door, _ outside: Outside
    ) async {
        await #expect(processExitsWith: .success) { [door, outside] in
            let home = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
            unsafe setenv("VALET_HOME", home, 1)
            let code = outside.running { door.set("key") }
            let isUntouched = !FileManager.default.fileExists(atPath: home)
            let hint = outside.running { () -> String in
                door.set("key")
                return KeychainFailure.last?.hint ?? ""
            }
            exit(code == errSecParam && isUntouched && hint.contains("`use`") ? 0 : 1)
        }
    }

    @Test func `Tests that read state instead of items are kept from the user's keychain, too`()
        async
    {
        await #expect(processExitsWith: .success) {
            let keychain = TemporaryKeychain()
            let states = [
                try? ValetKeychain.lockState, keychain.use { try? ValetKeychain.lockState },
            ]
            exit(states == [nil, .absent] ? 0 : 1)
        }
    }

    @Test func `A process with a keychain of its own can use both`() async {
        await #expect(processExitsWith: .success) {
            let home = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
            unsafe setenv("VALET_HOME", home, 1)
            TemporaryKeychain.allowOthers()
            let inside = withTemporaryKeychain { Door.allCases.map { $0.set("key \($0)") } }
            let outside = Door.allCases.map { $0.get("key \($0)") }
            let stored = Door.valet.set("key")
            TemporaryKeychain.forbidOthers()
            let forbidden = Door.valet.get("key")
            try? FileManager.default.removeItem(atPath: home)
            let isRight =
                inside == [0, 0, 0] && outside == Array(repeating: errSecItemNotFound, count: 3)
                && stored == noErr && forbidden == errSecParam
            exit(isRight ? 0 : 1)
        }
    }

    // Promise: 12.1
    @Test func `A process can be limited to temporary keychains`() async {
        await #expect(processExitsWith: .success) {
            TemporaryKeychain.forbidOthers()
            let outside = Door.allCases.map { $0.get("key") }
            let inside = withTemporaryKeychain { Door.allCases.map { $0.get("key") } }
            let detached = await withTemporaryKeychain {
                await Task.detached { Door.valet.set("key") }.value
            }
            let isRight =
                outside == [errSecParam, errSecParam, errSecParam]
                && inside == Array(repeating: errSecItemNotFound, count: 3)
                && detached == errSecParam
            exit(isRight ? 0 : 1)
        }
    }
}

@Suite(.temporaryKeychain) struct `The trait for temporary keychains` {
    @Test(arguments: 0..<4)
    func `The trait for temporary keychains gives each case of each test an empty one`(
        _ number: Int
    ) {
        #expect(TemporaryKeychain.current != nil)
        for door in Door.allCases {
            #expect(door.get("key") == errSecItemNotFound)
            #expect(door.set("key \(door)") == noErr)
            #expect(door.get("key \(door)") == noErr)
        }
    }

    @Test(.temporaryKeychain(.disk, accessGroups: ["shared"]))
    func `The trait for temporary keychains accepts the parameters of a test`() {
        let temporary = FileManager.default.temporaryDirectory.path
        #expect(TemporaryKeychain.current?.folder.hasPrefix(temporary) == true)
    }
}
