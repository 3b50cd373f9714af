// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainServices
@testable import ValetSecItem

/// A keychain in one of the states, with the items of every operation.
final class StateFixture: Sendable {
    let session: KeychainSession
    private let keychain: TestKeychain
    private let references: [String: Data]

    init(_ state: TableState) throws {
        keychain = TestKeychain(application: "states", groups: ["states"])
        keychain.clock.nanoseconds = StateOperation.moment
        session = keychain.session
        var references: [String: Data] = [:]
        if state != .absent {
            let hasPasscode = [.beforeFirstUnlock, .unlocked, .locked].contains(state)
            if hasPasscode { try keychain.setPasscode() }
            references = try Self.fill(session, hasPasscode)
        }
        self.references = references
        try bring(to: state)
    }

    /// The passcode of the states that have one.
    var typedPasscode: Passcode {
        get throws { try TestKeychain.passcode(TestKeychain.passcode) }
    }

    func unlock() throws { try keychain.unlock() }

    private func bring(to state: TableState) throws {
        switch state {
        case .absent, .noPasscode, .unlocked: return
        case .beforeFirstUnlock: try session.store.keychain.lock(all: true)
        case .locked: try session.store.keychain.lock()
        case .keyUnavailable: try replaceDeviceKey()
        case .incomplete: try removeDeviceKey()
        }
    }

    private var deviceKey: String { keychain.folder + "/device/device.key" }

    func removeDeviceKey() throws {
        session.store.close()
        try FileManager.default.removeItem(atPath: deviceKey)
    }

    /// Puts another keychain's device key in place of ours.
    func replaceDeviceKey() throws {
        let other = try StateFixture(.noPasscode)
        session.store.close()
        try FileManager.default.removeItem(atPath: deviceKey)
        try FileManager.default.copyItem(atPath: other.deviceKey, toPath: deviceKey)
    }

    /// Adds all items, as far as their class can be; names those with references.
    private static func fill(
        _ session: KeychainSession, _ hasPasscode: Bool
    ) throws -> [String: Data] {
        var additions: [Addition] = []
        for operation in StateOperation.allCases {
            for protectionClass in ProtectionClass.allCases {
                additions += operation.items(protectionClass).filter {
                    hasPasscode || $0.protectionClass != .whenPasscodeSetThisDeviceOnly
                }.map { Addition($0, value: SecretValue(copying: Array("value".utf8).span)) }
            }
        }
        try session.set(additions)
        var references: [String: Data] = [:]
        for item in try session.copy(ItemQuery(.genericPassword), .attributes).items {
            guard case .text(let service)? = item.attributes[.service] else { continue }
            references[service] = Data(item.reference.bytes)
        }
        return references
    }

    /// A query for the one item of an operation; for no item if it has none.
    func reference(
        _ operation: StateOperation, _ protectionClass: ProtectionClass
    ) -> NSDictionary {
        let stranger = PersistentReference(
            itemClass: .genericPassword, itemID: [UInt8](repeating: 7, count: 16))
        let bytes = references[operation.service(protectionClass)] ?? Data(stranger.bytes)
        return [kSecValuePersistentRef: bytes]
    }
}
