// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing
import ValetSecItem
import ValetSystem
import ValetTestValues

@testable import ValetUserPresence

@Suite(.serialized, .needsReader) struct `A context at a reader of this machine` {
    private let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("valet-context-\(UUID().uuidString)").path

    /// What evaluating a policy that takes a finger comes to; `action` is the person's.
    private func outcome(
        _ fixture: ReaderFixture, _ action: String
    ) async throws -> (code: LAError.Code?, context: LAContext) {
        // Where the person is told to put a finger on the reader.
        let pinentry = try ScriptedPinentry("HANG")
        let store = ItemStore(KeychainLocation(folder: folder), stretching: .lowest)
        defer {
            withExtendedLifetime(pinentry) {}
            try? store.keychain.lock(all: true)
            store.close()
            try? FileManager.default.removeItem(atPath: folder)
        }
        let passcode = SecretBytes(copying: Array("correct".utf8).span)
        try store.keychain.setPasscode(Passcode(passcode))
        let variables = Environment(["VALET_PINENTRY": pinentry.path])
        let context = LAContext(
            AuthenticationMeans(
                asker: PasscodeAsker(environment: variables, readsVariable: false),
                reader: FingerprintBiometry(fixture.reader), timeLimit: .seconds(20),
                application: { "mail" }), store: store)
        // Waits until the reader is claimed.
        let place = fixture.bus.folder.path("reader.sock")
        let finger = Thread {
            _ = Wait.until(seconds: 10) { LocalSocket.send(action, to: place) }
        }
        if !action.isEmpty { finger.start() }
        do {
            let policy = LAPolicy.deviceOwnerAuthenticationWithBiometrics
            let isProved = try await context.evaluatePolicy(policy, localizedReason: "sign in")
            #expect(isProved)
            return (nil, context)
        } catch let error as LAError {
            return (error.code, context)
        }
    }

    @Test func `A context is satisfied by an enrolled finger`() async throws {
        let fixture = try ReaderFixture()
        let (code, context) = try await outcome(fixture, "SCAN \(ReaderFixture.enrolled)")
        #expect(code == nil)
        let states = try fixture.reader.enrolments(until: Deadline(after: .seconds(5)))
        #expect(context.evaluatedPolicyDomainState == Data(states[0].bytes))
        #expect(context.biometryType == .touchID)
    }

    @Test func `A context reports that no finger is enrolled`() async throws {
        let fixture = try ReaderFixture(.none)
        #expect(try await outcome(fixture, "SCAN finger-B").code == .biometryNotEnrolled)
    }

    @Test func `A context reports that there is no fingerprint reader`() async throws {
        let fixture = try ReaderFixture(hasReader: false)
        #expect(try await outcome(fixture, "").code == .biometryNotAvailable)
    }

    @Test func `A context ends when the fingerprint reader is unplugged`() async throws {
        let fixture = try ReaderFixture()
        #expect(try await outcome(fixture, "UNPLUG").code == .biometryNotAvailable)
    }
}
