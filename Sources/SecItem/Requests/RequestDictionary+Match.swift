// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

// What a search matches beside attributes (spec/secitem.md §3.6).
extension RequestDictionary {
    mutating func takeMatch(_ key: String, _ value: Any) throws(KeychainFailure) {
        if key == kSecMatchLimit { return limit = try Self.limit(value, in: self) }
        namesMatches = true
        let input = AttributeInput(value)
        switch key {
        case kSecMatchHostOrSubdomainOfHost:
            guard case .text(let name) = input else { throw wrongType(key, "a string") }
            host = name
        case kSecMatchIssuers:
            guard value is [Any] else { throw wrongType(key, "an array") }
            namesIssuers = true
        case kSecMatchPolicy: throw wrongType(key, "a policy")
        case kSecMatchTrustedOnly:
            guard case .boolean = input else { throw wrongType(key, "a boolean") }
        case kSecMatchEmailAddressIfPresent:
            guard case .text = input else { throw wrongType(key, "a string") }
        case kSecMatchValidOnDate:
            if case .date = input { return }
            guard value is NSNull else { throw wrongType(key, "a date") }
        default: break
        }
    }

    private static func limit(
        _ value: Any, in dictionary: RequestDictionary
    ) throws(KeychainFailure) -> Limit {
        switch AttributeInput(value) {
        case .text(kSecMatchLimitOne): return .one
        case .text(kSecMatchLimitAll): return .all
        case .number(let number): return .number(number)
        default: throw dictionary.wrongType(kSecMatchLimit, "a number or one of its two values")
        }
    }
}
