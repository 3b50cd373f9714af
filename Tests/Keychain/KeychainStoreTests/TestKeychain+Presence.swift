// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// What a call for an item that may need a person comes to.
enum Reading: Equatable, CustomTestStringConvertible {
    case value(String?)
    case demanded([AccessControl])
    case failed(KeychainFailure.Code)

    var testDescription: String { "\(self)" }

    /// Whether something has to be proved first.
    var isDemand: Bool { if case .demanded = self { true } else { false } }
}

/// Items that need a person, in a keychain with a passcode.
extension TestKeychain {
    static func accessControl(
        _ constraints: AccessControl.Constraints, _ enrolment: [UInt8]? = nil,
        as protectionClass: ProtectionClass = .whenUnlocked
    ) throws -> AccessControl {
        try AccessControl(protectionClass, constraints).bound(to: enrolment)
    }

    func passcodeProof(_ text: String = passcode) throws -> PresenceProof {
        try store.presenceProof(passcode: SecretBytes(copying: Array(text.utf8).span))
    }

    func fingerProof(_ enrolment: [UInt8] = [1]) throws -> PresenceProof {
        try store.presenceProof(fingerprint: enrolment)
    }

    static func item(
        _ account: String, _ accessControl: AccessControl?, service: String = "service"
    ) -> NewItem {
        var item = NewItem.generic(account, service: service)
        item.accessControl = accessControl
        return item
    }

    /// Adds an item that has "value of …".
    @discardableResult
    func add(_ account: String, _ accessControl: AccessControl) throws -> StoredItem {
        try add(Self.item(account, accessControl), "value of \(account)")
    }

    /// Reads an item as a search does that may ask.
    func read(
        _ account: String, _ proof: PresenceProof? = nil,
        _ rule: PresenceAccess.Rule = .demanding, enrolment: PresenceAccess.Enrolment = .unknown
    ) -> Reading {
        reading {
            try store.value(
                of: .exact(account), for: caller,
                PresenceAccess(rule, proof: proof, enrolment: enrolment))
        }
    }

    /// Looks for an item and reads `parts` of it.
    func look(
        _ account: String, _ parts: ItemParts, _ access: PresenceAccess
    ) -> Reading {
        reading {
            try store.copy(.exact(account), parts, for: caller, access).map {
                try $0.items.first?.value
            }
        }
    }

    private func reading(_ body: () throws -> ItemResult<SecretValue?>) -> Reading {
        do {
            switch try body() {
            case .found(let value):
                return .value(value.map { String(decoding: $0.array, as: UTF8.self) })
            case .absent: return .failed(.itemNotFound)
            case .needsPerson(.proofs(let demands)): return .demanded(demands)
            case .needsPerson: return .failed(.internalFault)
            }
        } catch {
            return .failed((error as? KeychainFailure)?.code ?? .internalFault)
        }
    }
}
