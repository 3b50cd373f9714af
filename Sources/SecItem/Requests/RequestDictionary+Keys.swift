// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetKeychainServices

// What to return, where values are, whom to ask (spec/secitem.md §3.1, §10.5).
extension RequestDictionary {
    mutating func takeReturn(_ key: String, _ value: Any) throws(KeychainFailure) {
        guard let part = Self.returnedParts[key] else { throw unknown(key) }
        guard case .boolean(let isWanted) = AttributeInput(value) else {
            throw wrongType(key, "a boolean")
        }
        if isWanted { returning.insert(part) }
    }

    private static let returnedParts: [String: ReturnedParts] = [
        kSecReturnData: .data, kSecReturnAttributes: .attributes, kSecReturnRef: .object,
        kSecReturnPersistentRef: .persistentReference,
    ]

    mutating func takeValue(_ key: String, _ value: Any) throws(KeychainFailure) {
        switch key {
        case kSecValueData: try takeValueData(value)
        case kSecValueRef: throw wrongType(key, "a key, certificate or identity")
        default: throw unknown(key)
        }
    }

    mutating func takeValueData(_ value: Any) throws(KeychainFailure) {
        guard let data = value as? Data else { throw wrongType(kSecValueData, "data") }
        self.value = data
    }

    mutating func takeUse(_ key: String, _ value: Any) throws(KeychainFailure) {
        switch key {
        case kSecUseAuthenticationUI: try takeUserInterface(value)
        case kSecUseNoAuthenticationUI:
            let input = AttributeInput(value)
            if input != .boolean(false), input != .number(0),
                interaction.userInterface == .allow
            {
                interaction.userInterface = .fail
            }
        case kSecUseOperationPrompt: interaction.prompt = value as? String
        case kSecUseAuthenticationContext:
            let context = value as? any AuthenticationContext
            interaction.context = context.map(Interaction.Context.init)
        case kSecUseUserIndependentKeychain: break
        case kSecUseItemList: throw invalid("kSecUseItemList is not supported")
        default: throw unknown(key)
        }
    }

    private mutating func takeUserInterface(_ value: Any) throws(KeychainFailure) {
        switch AttributeInput(value) {
        case .text(kSecUseAuthenticationUIFail): interaction.userInterface = .fail
        case .text(kSecUseAuthenticationUISkip): interaction.userInterface = .skip
        case .text(kSecUseAuthenticationUIAllow): break
        case .text: throw wrongType(kSecUseAuthenticationUI, "one of its three values")
        default: break
        }
    }

    func unknown(_ key: String) -> KeychainFailure {
        invalid("\"\(key)\" is not known")
    }

    func wrongType(_ key: String, _ expected: String) -> KeychainFailure {
        invalid("\"\(key)\" is not \(expected)")
    }
}
