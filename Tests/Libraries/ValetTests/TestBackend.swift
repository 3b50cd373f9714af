// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetAppleKeychainRequests
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetTestSupport

@testable internal import Valet

/// The keychains that every rule is tried with.
enum TestBackend: CaseIterable {
    /// SecItem dictionaries to an imitation in memory.
    case fake
    /// Typed requests to the embedded keychain.
    case store
    /// SecItem dictionaries to the embedded keychain.
    case secItem

    /// Whether the embedded keychain can be tried.
    static let storeIsThere = TestProcess.isPrepared

    static let enabled: [TestBackend] = storeIsThere ? allCases : [.fake]

    var keychain: any KeychainBackend {
        switch self {
        case .fake: return SecItemKeychain(FakeSecItem())
        case .store: return StoreKeychain()
        case .secItem: return SecItemKeychain()
        }
    }
}

/// Names that no other test uses, in one of the keychains.
struct Sample {
    let keychain: any KeychainBackend
    let name = Identifier.named(UUID().uuidString)

    init(_ backend: TestBackend = .fake) {
        keychain = backend.keychain
    }

    func valet(_ accessibility: Accessibility = .whenUnlocked) -> Valet {
        valet(.standard(name), accessibility)
    }

    func valet(_ naming: Configuration.Naming, _ accessibility: Accessibility) -> Valet {
        Valet(Configuration(naming, accessibility), backend: keychain)
    }

    func cloudValet(_ accessibility: CloudAccessibility = .whenUnlocked) -> Valet {
        Valet(Configuration(cloud: .standard(name), accessibility), backend: keychain)
    }

    /// Stores an item that no valet would store, in the sandbox of `valet`.
    func plant(_ account: AttributeValue, _ value: Data, in valet: Valet) throws {
        var item = valet.sandbox.item("")
        item.attributes[.account] = account
        try keychain.perform(Transfer(additions: [(item, value)]))
    }

    /// Stores an item without a value in the sandbox of `valet`.
    func plant(_ account: String, in valet: Valet) throws {
        let item = valet.sandbox.item(account)
        if let keychain = keychain as? SecItemKeychain {
            try keychain.functions.check(keychain.functions.add(item.dictionary).status, "plant")
        } else {
            try KeychainSession.current().add(item, value: nil)
        }
    }

    /// A dictionary that finds the items of `valet`.
    func query(for valet: Valet) -> [String: AnyHashable] {
        ["class": "genp", "svce": AnyHashable(valet.sandbox.service)]
    }
}

extension Identifier {
    /// The identifier of a text that is not empty.
    static func named(_ text: String) -> Identifier {
        guard let identifier = Identifier(nonEmpty: text) else {
            preconditionFailure("an empty identifier")
        }
        return identifier
    }
}

extension SharedGroupIdentifier {
    /// The group `com.example` of that prefix.
    static func sample(_ prefix: String) -> SharedGroupIdentifier {
        guard let group = Self(appIDPrefix: prefix, nonEmptyGroup: "com.example") else {
            preconditionFailure("an empty prefix")
        }
        return group
    }
}
