// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainSwift
internal import Security
internal import Testing
internal import Valet
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetTesting

/// The results of storing, of reading a stored key and of reading a missing key under a failure.
struct FailureRow: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let failure: ScriptedFailure
    let storing: OSStatus
    let reading: OSStatus
    let missing: OSStatus

    init(
        _ name: String, _ failure: ScriptedFailure, _ codes: (OSStatus, OSStatus, OSStatus)
    ) {
        testDescription = name
        self.failure = failure
        (storing, reading, missing) = codes
    }

    static let all = [
        FailureRow("locked", .locked, (-25308, -25308, -25300)),
        FailureRow("before first unlock", .beforeFirstUnlock, (-25308, -25308, -25308)),
        FailureRow("key unavailable", .keyUnavailable, (-25291, -25291, -25291)),
        FailureRow("damaged", .damaged, (0, -26275, -25300)),
        FailureRow("disk full", .diskFull, (-34, 0, -25300)),
        FailureRow("cancelled", .userCancelled, (0, -128, -25300)),
        FailureRow("slow", .slow(.milliseconds(1)), (0, 0, -25300)),
    ]
}

@Suite(.temporaryKeychain) struct `A scripted failure` {
    @Test(arguments: FailureRow.all, Door.allCases)
    func `A scripted failure has the code of the real one`(_ row: FailureRow, _ door: Door) {
        #expect(door.set("there") == noErr)
        withKeychainFailure(row.failure) {
            #expect(door.set("new") == row.storing)
            #expect(door.get("there") == row.reading)
            #expect(door.get("absent") == row.missing)
        }
        #expect(door.get("there") == noErr)
        #expect(door.get("new") == (row.storing == 0 ? noErr : errSecItemNotFound))
    }

    @Test(arguments: Door.allCases)
    func `A scripted locked keychain leaves items of open classes readable`(_ door: Door) {
        door.set("key", whileLocked: true)
        withKeychainFailure(.locked) {
            #expect(door.get("key", whileLocked: true) == noErr)
            #expect(door.set("other", whileLocked: true) == noErr)
        }
    }

    @Test func `A scripted locked keychain deletes locked items, but not synchronized ones`() {
        let keychain = KeychainSwift()
        keychain.set("x", forKey: "local")
        keychain.synchronizable = true
        keychain.set("x", forKey: "cloud")
        withKeychainFailure(.locked) {
            #expect(keychain.delete("local"))
            #expect(!keychain.delete("cloud"))
            #expect(keychain.lastResultCode == errSecInteractionNotAllowed)
            #expect(keychain.allKeys == [])
            #expect(keychain.lastResultCode == errSecInteractionNotAllowed)
        }
    }

    @Test(arguments: Door.allCases)
    func `A scripted failure can be limited to one key`(_ door: Door) {
        for key in ["one", "two"] { door.set(key) }
        withKeychainFailure(.damaged.forKey("two"), .diskFull.forKey("three")) {
            #expect(door.get("one") == noErr)
            #expect(door.get("two") == errSecDecode)
            #expect(door.set("three") == errSecDiskFull)
            #expect(door.set("four") == noErr)
        }
    }

    @Test(arguments: Door.allCases)
    func `A scripted failure can be limited to one call`(_ door: Door) {
        door.set("key")
        withKeychainFailure(.userCancelled.atCall(2)) {
            #expect(door.get("key") == noErr)
            #expect(door.get("absent") == errSecItemNotFound)
            #expect(door.get("key") == errSecUserCanceled)
            #expect(door.get("key") == noErr)
        }
    }

    @Test(arguments: Door.allCases)
    func `A scripted failure can apply to all calls from one on`(_ door: Door) {
        withKeychainFailure(.diskFull.fromCall(2)) {
            #expect(door.set("a") == noErr)
            #expect(door.set("b") == errSecDiskFull)
            #expect(door.set("c") == errSecDiskFull)
            #expect(door.get("a") == noErr)
        }
    }

    @Test func `A scripted failure adds to those in effect`() {
        withKeychainFailure(.diskFull) {
            withKeychainFailure(.locked.forKey("a")) {
                #expect(Door.secItem.set("a") == errSecDiskFull)
                #expect(Door.secItem.set("b") == errSecDiskFull)
            }
        }
    }

    @Test func `A scripted delay ends at the time limit of a call`() {
        withKeychainFailure(.slow(.seconds(3600))) {
            #expect(Door.secItem.get("key") == errSecNotAvailable)
            #expect(KeychainFailure.last?.code == .timedOut)
        }
    }

    @Test func `A scripted failure becomes the KeychainError of its kind`() throws {
        let identifier = try #require(Identifier(nonEmpty: "id"))
        let valet = Valet.valet(with: identifier, accessibility: .whenUnlocked)
        try valet.setString("x", forKey: "key")
        withKeychainFailure(.userCancelled) {
            #expect(throws: KeychainError.userCancelled) { try valet.string(forKey: "key") }
        }
        withKeychainFailure(.locked) {
            #expect(throws: KeychainError.couldNotAccessKeychain) {
                try valet.string(forKey: "key")
            }
            #expect(!valet.canAccessKeychain())
        }
    }

    @Test func `A scripted failure applies to asynchronous calls and to calls for several keys`()
        async throws
    {
        let identifier = try #require(Identifier(nonEmpty: "id"))
        let valet = Valet.valet(with: identifier, accessibility: .whenUnlocked)
        try await valet.asynchronous.setString("x", forKey: "key")
        #expect(try valet.string(forKey: "key") == "x")
        try await withKeychainFailure(.damaged.forKey("key")) { () async throws in
            await #expect(throws: KeychainError.couldNotAccessKeychain) {
                try await valet.asynchronous.string(forKey: "key")
            }
            #expect(try valet.objects(forKeys: ["other"]) == [:])
            #expect(throws: KeychainError.couldNotAccessKeychain) {
                try valet.objects(forKeys: ["key"])
            }
        }
    }

    // Promise: 12.1
    @Test func `A scripted failure changes nothing outside of temporary keychains`() async {
        let code = await withKeychainFailure(.diskFull) { () async -> OSStatus in
            await Task.detached { withTemporaryKeychain { Door.secItem.set("key") } }.value
        }
        #expect(code == noErr)
    }
}

@Suite struct `The trait for failures` {
    @Test(.keychainFailure(.beforeFirstUnlock))
    func `The trait for failures gives the test a temporary keychain`() {
        #expect(TemporaryKeychain.current != nil)
        #expect(Door.valet.set("key") == errSecInteractionNotAllowed)
    }

    @Test(.keychainFailure(.diskFull), .temporaryKeychain)
    func `The trait for failures may come before the trait for keychains`() {
        #expect(Door.keychainSwift.set("key") == errSecDiskFull)
    }

    @Test(.temporaryKeychain, .keychainFailure(.diskFull.atCall(1)), arguments: Door.allCases)
    func `The trait for failures counts calls for each case`(_ door: Door) {
        #expect(door.set("key") == errSecDiskFull)
        #expect(door.set("key") == noErr)
    }
}
