// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Foundation
internal import KeychainSwift
internal import Testing
internal import Valet
internal import ValetTesting
internal import XCTest

// The examples of docs/TESTING.md, word for word.

struct Session {
    let valet: Valet

    init(_ name: Identifier) {
        valet = .valet(with: name, accessibility: .whenUnlocked)
    }

    func signIn(_ token: String) throws {
        try valet.setString(token, forKey: "token")
    }

    var state: String {
        do {
            return "signed in with \(try valet.string(forKey: "token"))"
        } catch KeychainError.itemNotFound {
            return "signed out"
        } catch {
            return "try again later"
        }
    }
}

@Suite(.temporaryKeychain) struct `A session` {
    let session: Session

    init() throws {
        session = Session(try #require(Identifier(nonEmpty: "App")))
    }

    @Test func `A new session is signed out`() {
        #expect(session.state == "signed out")
    }

    @Test func `A session keeps its token`() throws {
        try session.signIn("abc")
        #expect(session.state == "signed in with abc")
        #expect(KeychainSwift().get("token") == "abc")
    }
}

class KeychainTestCase: XCTestCase {
    override func invokeTest() {
        withTemporaryKeychain { super.invokeTest() }
    }
}

final class SharedKeychainTests: KeychainTestCase {
    override func setUp() {
        XCTAssert(KeychainSwift().allKeys.isEmpty)
        XCTAssert(KeychainSwift().set("abc", forKey: "token"))
    }

    override func tearDown() {
        XCTAssertEqual(KeychainSwift().allKeys, ["token", "other"].sorted())
    }

    func testSetUpAndTestShareAKeychain() {
        XCTAssertEqual(KeychainSwift().get("token"), "abc")
        XCTAssert(KeychainSwift().set("def", forKey: "other"))
    }

    func testAsynchronousTestsShareItAsWell() async {
        await Task.yield()
        XCTAssertEqual(KeychainSwift().get("token"), "abc")
        let isStored = await Task { KeychainSwift().set("def", forKey: "other") }.value
        XCTAssert(isStored)
    }
}

@Test func `An import replaces the old keys`() async throws {
    try await withTemporaryKeychain {
        let keychain = KeychainSwift()
        keychain.set("old", forKey: "token")
        try await importTokens()
        #expect(keychain.get("token") == "new")
    }
}

@Test(.temporaryKeychain) func `A queue can be handed the keychain`() async throws {
    let keychain = try #require(TemporaryKeychain.current)
    let stored = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            keychain.use {
                continuation.resume(returning: KeychainSwift().set("x", forKey: "key"))
            }
        }
    }
    #expect(stored)
    #expect(KeychainSwift().get("key") == "x")
}

@Suite(.temporaryKeychain) struct `A session while the keychain fails` {
    let session: Session

    init() throws {
        session = Session(try #require(Identifier(nonEmpty: "App")))
    }

    @Test func `A session waits while the keychain is locked`() throws {
        try session.signIn("abc")
        withKeychainFailure(.locked) {
            #expect(session.state == "try again later")
        }
        #expect(session.state == "signed in with abc")
    }

    @Test(.keychainFailure(.diskFull.atCall(2)))
    func `A session keeps its token when the disk is full`() throws {
        try session.signIn("abc")
        #expect(throws: KeychainError.couldNotAccessKeychain) { try session.signIn("def") }
        #expect(KeychainFailure.last?.code == .diskFull)
        #expect(session.state == "signed in with abc")
    }
}

@Test(.temporaryKeychain) func `A job waits for the keychain`() async throws {
    let job = withKeychainFailure(.beforeFirstUnlock) {
        #expect((try? ValetKeychain.lockState) == .beforeFirstUnlock)
        return Task { try await sendWhenUnlocked() }
    }
    #expect(try await job.value == "sent")
}

func sendWhenUnlocked() async throws -> String {
    try await ValetKeychain.waitUntilAvailable(
        for: .whenUnlocked, deadline: .now + .seconds(60))
    return KeychainSwift().get("token") == nil ? "sent" : "sent with a token"
}

private func importTokens() async throws {
    try await Task.sleep(for: .milliseconds(1))
    try KeychainSwift().throwing.set("new", forKey: "token")
}

@Suite struct `The examples of the guide to testing` {
    @Test func `The examples of the guide to testing are those that run here`() throws {
        let here = URL(filePath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let guide = try String(
            contentsOf: root.appending(path: "docs/TESTING.md"), encoding: .utf8)
        let source = try String(contentsOf: here, encoding: .utf8)
        let blocks = guide.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
        #expect(blocks.count == 8)
        for block in blocks { #expect(source.contains(block)) }
    }
}
