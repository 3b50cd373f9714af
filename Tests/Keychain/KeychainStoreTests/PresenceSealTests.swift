// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetDatabase
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §5.2: values that are sealed twice.
@Suite struct `The seal of an item that needs a person` {
    let keychain: TestKeychain
    let item: StoredItem

    init() throws {
        keychain = try TestKeychain.withPasscode()
        item = try keychain.add("1", TestKeychain.accessControl(.devicePasscode))
        try keychain.add("2", TestKeychain.accessControl(.devicePasscode))
    }

    static let splices: [(name: String, sql: StaticString)] = [
        (
            "V of item 2",
            """
            UPDATE item SET secret = (SELECT max(secret) FROM item WHERE number <> ?1)
            WHERE number = ?1
            """
        ),
        ("kind person", "UPDATE item SET flags = 512 WHERE number = ?1"),
        ("no kind", "UPDATE item SET flags = 0 WHERE number = ?1"),
        ("kind 3", "UPDATE item SET flags = 768 WHERE number = ?1"),
        ("a password", "UPDATE item SET flags = flags | 1024 WHERE number = ?1"),
        ("another bit", "UPDATE item SET flags = flags | 2048 WHERE number = ?1"),
        ("version", "UPDATE item SET version = version + 1 WHERE number = ?1"),
        ("class", "UPDATE item SET protection = 2 WHERE number = ?1"),
        ("V taken away", "UPDATE item SET secret = NULL WHERE number = ?1"),
        ("V cut", "UPDATE item SET secret = substr(secret, 2) WHERE number = ?1"),
    ]

    // Promise: 9.2
    /// spec/keys-and-states.md §8, case 8.
    @Test(arguments: splices.indices)
    func `A presence seal with parts of another one is damaged`(_ index: Int) throws {
        try keychain.tamper(Self.splices[index].sql, item.parameter)
        keychain.store.close()
        let proof = try keychain.passcodeProof().adding(keychain.fingerProof())
        #expect(keychain.read("1", proof) == .failed(.damaged), "\(Self.splices[index].name)")
        // Nobody is asked for what can be seen to be damaged; V is looked at last.
        let unproved = keychain.read("1")
        #expect(unproved.isDemand || unproved == .failed(.damaged))
        #expect(!keychain.damage().isEmpty)
    }

    // Promise: 9.2
    @Test func `A presence seal of an earlier value is damaged`() throws {
        let old = try keychain.row(item)
        try keychain.set(
            TestKeychain.item("1", TestKeychain.accessControl(.devicePasscode)), "second")
        try keychain.tamper(
            "UPDATE item SET secret = ?2 WHERE number = ?1", item.parameter,
            .bytes(try #require(old.secret)))
        keychain.store.close()
        #expect(keychain.read("1", try keychain.passcodeProof()) == .failed(.damaged))
    }

    // Promise: 9.1
    /// What a process has that the user's keychain is open to, and nobody typed anything to.
    @Test func `A presence seal stays closed to the holder of every other key`() throws {
        let person = try keychain.add("3", TestKeychain.accessControl(.userPresence))
        let finger = try keychain.fingerProof()
        let (bound, gated) = (try keychain.row(item), try keychain.row(person))
        _ = try keychain.store.tryOnRows("test") { snapshot in
            let state = snapshot.state
            #expect(state.epoch.isComplete)
            let cipher = try state.cipher(opening: bound.header)
            let parts = try ValueParts(bound)
            let secret = try #require(bound.secret)
            for proof in [nil, finger] {
                #expect(throws: SystemError.row(.needsPerson)) {
                    _ = try cipher.openValue(parts, secret.span, proof)
                }
            }
            // The gate of fingers is the program's: the key is open while unlocked.
            let other = try #require(gated.secret)
            let value = try cipher.openValue(ValueParts(gated), other.span, finger)
            #expect(value.array == Array("value of 3".utf8))
        }
    }

    // Promise: 9.1
    @Test func `A presence seal refuses a proof of another keychain`() throws {
        let other = try TestKeychain.withPasscode()
        try other.add("1", TestKeychain.accessControl(.devicePasscode))
        #expect(keychain.read("1", try other.passcodeProof()).isDemand)
        #expect(other.read("1", try other.passcodeProof()) == .value("value of 1"))
    }

    /// docs/FORMAT.md §9: in steps of 32 bytes, 72 more than others.
    @Test func `A presence seal hides the size of its value as others do`() throws {
        let accessControl = try TestKeychain.accessControl(.devicePasscode)
        let sizes = try [0, 1, 31, 32, 1024, 1025].map { count in
            let item = TestKeychain.item("size \(count)", accessControl)
            let text = String(repeating: "x", count: count)
            let stored = try keychain.add(item, text)
            #expect(keychain.read("size \(count)", try keychain.passcodeProof()) == .value(text))
            return try #require(keychain.row(stored).secret?.count)
        }
        #expect(sizes == [120, 120, 120, 152, 1144, 2136])
    }

    /// spec/secitem.md §10.7, §9.2: the class first, then the person.
    @Test func `A presence seal needs its class key and the proof`() throws {
        try keychain.add("ck", TestKeychain.accessControl(.userPresence, as: .afterFirstUnlock))
        let finger = try keychain.fingerProof()
        try keychain.store.keychain.lock()
        #expect(keychain.read("1", finger) == .failed(.locked))
        #expect(keychain.read("ck").isDemand)
        #expect(failure { _ = try keychain.fingerProof() } == .locked)
        let passcode = try keychain.passcodeProof()
        #expect(try keychain.lockState() == .locked)
        #expect(keychain.read("1", passcode) == .failed(.locked))
        #expect(keychain.read("ck", passcode) == .value("value of ck"))
        // A proof is one until its owner lets it go.
        #expect(keychain.read("ck", finger) == .value("value of ck"))
    }

    @Test func `A presence proof needs the right passcode`() throws {
        #expect(failure { _ = try keychain.passcodeProof("wrong") } == .authenticationFailed)
        #expect(failure { _ = try keychain.passcodeProof("") } == .invalidRequest)
        let none = TestKeychain()
        try none.add(.generic("a"))
        #expect(
            failure { _ = try none.store.presenceProof(fingerprint: [1]) } == .passcodeNotSet)
        #expect(
            failure {
                let typed = Array("x".utf8)
                _ = try none.store.presenceProof(passcode: SecretBytes(copying: typed.span))
            } == .passcodeNotSet)
    }
}
