// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainServices
@testable import ValetSecItem

/// A person who does what the test says, and counts how often they were asked.
final class TestPerson: Authenticator, AuthenticationContext {
    struct Conduct: Sendable {
        /// Types the right passcode.
        var typesPasscode = false
        /// Touches the reader with a finger that is enrolled.
        var touchesReader = false
        /// What the reader says of the fingers that are enrolled.
        var enrolment: [UInt8]? = [1]
        /// What other readers say, which nobody touches.
        var otherReaders: [[UInt8]] = []
        /// What the reader says from the next question on.
        var laterEnrolment: [UInt8]?
        /// How asking ends instead.
        var failure: KeychainFailure.Code?
        /// Whether what was proved is remembered.
        var remembers = false
    }

    private struct State {
        var conduct: Conduct
        var questions: [[AccessControl]] = []
        var reasons: [String?] = []
        var proof: PresenceProof?
        /// What typing the passcode has given: it is stretched but once.
        var typed: PresenceProof?
    }

    private let state: Mutex<State>

    init(_ conduct: Conduct = Conduct(), remembering proof: PresenceProof? = nil) {
        state = Mutex(State(conduct: conduct, proof: proof))
    }

    /// What a reader says: docs/FORMAT.md §5.4.
    static func enrolment(_ reader: UInt8, _ fingers: UInt8) -> [UInt8] {
        [UInt8](repeating: reader, count: 32) + [fingers]
    }

    /// One who types the passcode.
    static var typing: TestPerson { TestPerson(Conduct(typesPasscode: true)) }

    var conduct: Conduct {
        get { state.withLock { $0.conduct } }
        set { state.withLock { $0.conduct = newValue } }
    }

    /// What was asked for, each time.
    var questions: [[AccessControl]] { state.withLock { $0.questions } }
    var reasons: [String?] { state.withLock { $0.reasons } }

    var asking: any Authenticator { self }

    var rememberedProof: PresenceProof? { state.withLock { $0.proof } }

    func enrolments(until deadline: Deadline) throws(KeychainFailure) -> [[UInt8]] {
        (conduct.enrolment.map { [$0] } ?? []) + conduct.otherReaders
    }

    /// Knows no password of an application's.
    func passwords(
        opening locks: [PassphraseBox], isComplete: Bool, _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> [StretchedPassword] {
        guard isComplete else { return [] }
        throw KeychainFailure(.authenticationFailed, during: "authenticate")
    }

    func newPassword(
        _ stretching: PasscodeStretching, _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> StretchedPassword {
        throw KeychainFailure(.authenticationFailed, during: "authenticate")
    }

    func proof(
        for demands: [AccessControl], reason: String?, store: ItemStore?, deadline: Deadline
    ) throws(KeychainFailure) -> PresenceProof {
        guard let store else { throw KeychainFailure(.internalFault, during: "authenticate") }
        state.withLock {
            $0.questions.append(demands)
            $0.reasons.append(reason)
            $0.conduct.enrolment = $0.conduct.laterEnrolment ?? $0.conduct.enrolment
        }
        let conduct = conduct
        if let code = conduct.failure { throw KeychainFailure(code, during: "authenticate") }
        var proof: PresenceProof?
        if conduct.typesPasscode {
            let known = state.withLock { $0.typed }
            let typed: PresenceProof
            if let known {
                typed = known
            } else {
                typed = try store.presenceProof(passcode: .text(TestKeychain.passcode))
            }
            state.withLock { $0.typed = typed }
            proof = typed
        }
        if conduct.touchesReader, let enrolment = conduct.enrolment {
            let finger = try store.presenceProof(fingerprint: enrolment)
            proof = proof?.adding(finger) ?? finger
        }
        guard let proof else {
            throw KeychainFailure(.authenticationFailed, during: "authenticate")
        }
        if conduct.remembers { state.withLock { $0.proof = proof } }
        return proof
    }
}

/// The four calls in a keychain of their own.
struct GuardedCalls {
    let keychain: TestKeychain
    let service: KeychainSession

    init() throws {
        let keychain = TestKeychain()
        try keychain.setPasscode()
        self.init(keychain)
    }

    init(_ keychain: TestKeychain) {
        self.keychain = keychain
        service = keychain.session
    }

    static func accessControl(
        _ flags: SecAccessControlCreateFlags,
        _ protection: NSString = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
    ) throws -> SecAccessControl {
        let made = SecAccessControlCreateWithFlags(nil, protection, flags, nil)
        return try #require(made)
    }

    /// The name of an item of ``add(_:_:_:_:)``.
    static func name(_ account: String) -> PasswordName {
        PasswordName(
            account,
            in: PasswordService(
                service: "", accessGroup: nil, isSynchronizable: false,
                protectionClass: .whenUnlockedThisDeviceOnly))
    }

    static func item(_ account: String, _ more: NSDictionary = [:]) -> NSDictionary {
        [kSecClass: kSecClassGenericPassword, kSecAttrAccount: account] + more
    }

    /// Adds an item with an access control and a value.
    @discardableResult
    func add(
        _ account: String, _ flags: SecAccessControlCreateFlags, _ person: TestPerson? = nil,
        _ more: NSDictionary = [:]
    ) throws -> OSStatus {
        var item = Self.item(
            account,
            [
                kSecAttrAccessControl: try Self.accessControl(flags),
                kSecValueData: Data("value".utf8),
            ])
        if let person { item = item + [kSecUseAuthenticationContext: person] }
        return status { _ = try service.add(item + more) }
    }

    /// The code of a search, and what it gave.
    func copy(
        _ account: String, _ person: TestPerson? = nil, _ more: NSDictionary = [:]
    ) -> (status: OSStatus, result: AnyObject?) {
        var query = Self.item(account, more)
        if let person { query = query + [kSecUseAuthenticationContext: person] }
        var result: AnyObject?
        let code = status { result = try service.copyMatching(query) }
        return (code, result)
    }

    /// As the other, for the value alone.
    func value(
        _ account: String, _ person: TestPerson? = nil, _ more: NSDictionary = [:]
    ) -> (status: OSStatus, text: String?) {
        let found = copy(account, person, [kSecReturnData: true] + more)
        let data = found.result as? Data
        return (found.status, data.map { String(decoding: $0, as: UTF8.self) })
    }

    func update(
        _ account: String, _ person: TestPerson?, _ changes: NSDictionary
    ) -> OSStatus {
        var query = Self.item(account)
        if let person { query = query + [kSecUseAuthenticationContext: person] }
        return status { try service.update(query, changes) }
    }

    func delete(_ account: String) -> OSStatus {
        status { try service.delete(Self.item(account)) }
    }

    func status(_ body: () throws -> Void) -> OSStatus {
        do {
            try body()
            return errSecSuccess
        } catch {
            return (error as? KeychainFailure)?.status ?? errSecInternalComponent
        }
    }
}

extension SecretValue {
    /// The value that the text is.
    static func text(_ text: String) -> SecretValue {
        SecretValue(copying: Array(text.utf8).span)
    }
}
