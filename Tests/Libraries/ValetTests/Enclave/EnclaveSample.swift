// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization
internal import ValetAppleKeychainRequests
internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSecItem
internal import ValetSystem
internal import ValetTestSupport
internal import ValetTestValues
internal import ValetUserPresence

@testable internal import Valet

/// A keychain with a passcode, scripted answers of the user, and names that no other test uses.
final class EnclaveSample {
    /// The keychains that every rule is tried with.
    enum Backend: CaseIterable {
        /// SecItem dictionaries to an imitation in memory.
        case fake
        /// Typed requests to the embedded keychain.
        case store
        /// SecItem dictionaries to the embedded keychain.
        case secItem

        static let embedded: [Backend] = [.store, .secItem]
    }

    static let knowing = "PIN \(TestKeychain.passcode)"

    let name = Identifier.named(UUID().uuidString)
    let pinentry: ScriptedPinentry
    let reader = FingerOnReader()
    let fake = FakeSecItem()
    let keychain: any KeychainBackend
    private let embedded = TestKeychain(groups: ["ABC.com.example"])
    private var store: ItemStore { embedded.store }

    /// By default the user knows the passcode.
    init(_ backend: Backend, hasPasscode: Bool = true) throws {
        pinentry = try ScriptedPinentry()
        try pinentry.answer([Self.knowing])
        let session = embedded.session
        let functions = ServiceFunctions(service: session)
        switch backend {
        case .fake: keychain = SecItemKeychain(fake)
        case .store: keychain = StoreKeychain(session)
        case .secItem: keychain = SecItemKeychain(functions)
        }
        if hasPasscode, backend != .fake {
            try embedded.setPasscode()
        }
    }

    func lock() throws { try store.keychain.lock(all: false) }

    func unlock() throws {
        try embedded.unlock()
    }

    /// Takes the passcode away, and sets it again.
    func removePasscode() throws {
        try store.keychain.removePasscode(TestKeychain.passcode(TestKeychain.passcode))
        try embedded.setPasscode()
    }

    /// What the person read, each time that they were asked.
    var prompts: [String] {
        let asked = pinentry.descriptions.map { text in
            text.split(separator: "%0A").dropFirst().joined().filter {
                !"\u{201C}\u{201D}".contains($0)
            }
        }
        return fake.prompts + asked
    }

    /// Has the person decline from now on.
    func decline() throws {
        fake.answer(with: -128)
        try pinentry.answer(["CANCEL"])
    }

    /// Has the person give wrong answers from now on.
    func mistake() throws {
        fake.answer(with: -25293)
        try pinentry.answer(["PIN wrong"])
    }

    /// Makes the user authenticate again.
    func agree() throws {
        fake.answer(with: 0)
        try pinentry.answer([Self.knowing])
    }

    func valet(_ accessControl: SecureEnclaveAccessControl = .userPresence) -> SecureEnclaveValet {
        SecureEnclaveValet(enclave(.standard(name), accessControl, asksOnce: false))
    }

    func singlePromptValet(
        _ accessControl: SecureEnclaveAccessControl = .userPresence
    ) -> SinglePromptSecureEnclaveValet {
        SinglePromptSecureEnclaveValet(enclave(.standard(name), accessControl, asksOnce: true))
    }

    func plainValet() -> Valet {
        Valet(Configuration(.standard(name), .afterFirstUnlock), backend: keychain)
    }

    func enclave(
        _ naming: Configuration.Naming, _ accessControl: SecureEnclaveAccessControl, asksOnce: Bool
    ) -> Enclave {
        let environment = Environment(["VALET_PINENTRY": pinentry.path])
        let means = AuthenticationMeans(
            asker: PasscodeAsker(environment: environment, readsVariable: false), reader: reader,
            application: { "app" })
        let store = store
        return Enclave(naming, accessControl, asksOnce: asksOnce, backend: keychain) {
            Authentication(LAContext(means, store: store))
        }
    }
}

/// The SecItem functions of another keychain than the process's.
struct ServiceFunctions: SecItemFunctions {
    let service: KeychainSession

    func add(_ attributes: [String: Any]) -> (status: Int32, result: Any?) {
        status { () throws(KeychainFailure) in try service.add(attributes as NSDictionary) }
    }

    func copy(_ query: [String: Any]) -> (status: Int32, result: Any?) {
        status { () throws(KeychainFailure) in try service.copyMatching(query as NSDictionary) }
    }

    func update(_ query: [String: Any], _ changes: [String: Any]) -> Int32 {
        status { () throws(KeychainFailure) in
            try service.update(query as NSDictionary, changes as NSDictionary)
            return nil
        }.status
    }

    func delete(_ query: [String: Any]) -> Int32 {
        status { () throws(KeychainFailure) in
            try service.delete(query as NSDictionary)
            return nil
        }.status
    }

    private func status(
        _ body: () throws(KeychainFailure) -> AnyObject?
    ) -> (status: Int32, result: Any?) {
        do throws(KeychainFailure) {
            return (0, try body())
        } catch {
            return (error.status, nil)
        }
    }
}

/// A reader with fingers enrolled, if a test says so, one of which is always on it.
final class FingerOnReader: BiometryReader {
    private let enrolment = Mutex<[UInt8]?>(nil)

    func enrol(_ new: [UInt8]?) { enrolment.withLock { $0 = new } }

    func state(until deadline: Deadline) -> BiometryState {
        enrolment.withLock { $0 }.map { .enrolled([$0]) } ?? .noReader
    }

    func verify(
        _ wanted: [UInt8]?, until deadline: Deadline, cancellation: Cancellation,
        tell: (String) -> Void
    ) throws(SystemError) -> [UInt8] {
        guard let enrolled = enrolment.withLock({ $0 }) else {
            throw SystemError(.noReader, during: "verify a finger")
        }
        return enrolled
    }
}
