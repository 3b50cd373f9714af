// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetKeychainModel
import ValetTestValues

@testable import ValetKeychainServices
@testable import ValetSecItem

extension [String: Any] {
    /// A dictionary of keys and values right and wrong.
    ///
    /// - Parameter references: Persistent references to choose from beside others.
    static func random(_ random: inout SplitMix, references: [Data] = []) -> [String: Any] {
        var result: [String: Any] = [:]
        if !random.oneIn(10) {
            result[kSecClass as String] = ["genp", "genp", "inet", "inet", "keys", "x"].random(
                &random)
        }
        for _ in 0..<Int.random(in: 0..<6, using: &random) {
            let key = DictionaryKeys.all.random(&random)
            let value: Any
            if key == kSecValuePersistentRef as String, !random.oneIn(4),
                let known = references.first
            {
                value = references.count > 1 ? references.random(&random) : known
            } else if random.oneIn(3) {
                value = DictionaryValues.any(&random)
            } else {
                value = DictionaryValues.fitting(key, &random)
            }
            result[key] = value
        }
        return result
    }
}

extension SplitMix {
    /// True once in `count` times.
    mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }
}

extension Array {
    /// One of the elements, of which there is one at least.
    func random(_ random: inout SplitMix) -> Element {
        self[Int.random(in: 0..<count, using: &random)]
    }
}

/// The keys of random dictionaries.
private enum DictionaryKeys {
    private static var constants: [NSString] {
        [
            kSecClass, kSecMatchLimit, kSecMatchIssuers, kSecMatchValidOnDate, kSecMatchPolicy,
            kSecMatchHostOrSubdomainOfHost, kSecMatchTrustedOnly, kSecMatchItemList,
            kSecMatchCaseInsensitive, kSecMatchEmailAddressIfPresent, kSecReturnData,
            kSecReturnRef, kSecReturnAttributes, kSecReturnPersistentRef, kSecValueData,
            kSecValueData, kSecValueRef, kSecValuePersistentRef, kSecValuePersistentRef,
            kSecUseAuthenticationUI, kSecUseNoAuthenticationUI, kSecUseAuthenticationContext,
            kSecUseAuthenticationContext, kSecAttrAccessControl, kSecUseItemList,
            kSecUseOperationPrompt, kSecUseDataProtectionKeychain, kSecUseTombstones,
            kSecUseKeychain, kSecAttrTombstone, kSecAttrUUID, kSecAttrApplicationTag,
        ]
    }

    static let all =
        Attribute.allCases.map(\.rawValue) + Attribute.allCases.map(\.rawValue) + [
            "clip", "",
            "v", "m", "r_", "u_", "f", "filter", "account", "😀", "😀😀", "ключ",
            "\u{0}\u{0}\u{0}\u{0}", "acct\u{0}", "ACCT", " acct", "clas", "classs",
            String(repeating: "k", count: 10_000),
        ]
}

/// The values of random dictionaries.
private enum DictionaryValues {
    /// A value of a type that the key takes, more often than not.
    static func fitting(_ key: String, _ random: inout SplitMix) -> Any {
        switch key {
        case kSecReturnData, kSecReturnRef, kSecReturnAttributes, kSecReturnPersistentRef,
            kSecMatchTrustedOnly:
            return [true, false].random(&random)
        case kSecMatchLimit:
            return ([kSecMatchLimitOne, kSecMatchLimitAll, 1, 2, -1, 0] as [Any]).random(&random)
        case kSecValueData: return Data([UInt8.random(in: 0..<4, using: &random)])
        case kSecAttrSynchronizable:
            return ([true, false, 0, 1, "1", kSecAttrSynchronizableAny] as [Any]).random(&random)
        case kSecAttrAccessible: return ["ak", "ck", "dk", "aku", "akpu"].random(&random)
        case kSecAttrAccessGroup: return ["first", "second", "app", "foreign"].random(&random)
        case kSecAttrCreationDate, kSecAttrModificationDate:
            return Date(timeIntervalSinceReferenceDate: 1)
        case kSecUseAuthenticationUI:
            return ["u_AuthUIA", "u_AuthUIF", "u_AuthUIS"].random(&random)
        case kSecUseAuthenticationContext: return AuthenticationObjects.contexts.random(&random)
        case kSecAttrAccessControl: return AuthenticationObjects.controls.random(&random)
        default: return (["a", "b", "", 1, 2, Data("a".utf8), true] as [Any]).random(&random)
        }
    }

    /// A value of any type.
    static func any(_ random: inout SplitMix) -> Any {
        random.oneIn(2) ? plain.random(&random) : strange.random(&random)
    }

    private static var plain: [Any] {
        [
            "", "a", "ak", "genp", kSecMatchLimitAll, kSecAttrSynchronizableAny, "1", "é", "\u{0}",
            kSecUseAuthenticationUISkip, Data(), Data([0xFF]), Data("genp".utf8) + Data(count: 16),
            Data("keys".utf8) + Data(count: 16), true, false, 0, 1, -1, Int.max, Int.min, Date(),
            NSNumber(value: true), String(repeating: "é", count: 5000), Data(count: 5000),
        ]
    }

    private static var strange: [Any] {
        [
            UInt64.max, 1.5, -0.0, Double.nan, Float.infinity, Double.greatestFiniteMagnitude,
            Date.distantFuture, Date.distantPast, Date(timeIntervalSinceReferenceDate: .nan),
            Date(timeIntervalSinceReferenceDate: .infinity), UUID(), NSNull(), NSObject(), [1],
            ["a": 1], [Any](), [String: Any](), Decimal(1), Decimal.nan, NSArray(), NSDictionary(),
            NSMutableString(string: "a"), NSMutableData(), NSUUID(), Optional<Int>.none as Any,
            Optional(Optional("a")) as Any, AnyHashable(true), AnyHashable(AnyHashable("a")),
            AnyHashable(Data()), URL(fileURLWithPath: "/") as Any, Character("a"),
            "abc".dropFirst(), Data("abc".utf8).dropFirst(), NSError(domain: "", code: 0), (1, 2),
            { () -> Int in 1 }, Int.self, NSDecimalNumber(string: "99999999999999999999"),
            [[[["deep": [1, [2, [3]]]]]]], NSSet(), NSNumber(value: Int8(1)), 0 as UInt8,
        ] + AuthenticationObjects.contexts + AuthenticationObjects.controls
    }
}

/// The objects that dictionaries hold: none of them asks anybody.
private enum AuthenticationObjects {
    /// Contexts of which one may not ask, and one is over.
    static var contexts: [LAContext] {
        let (silent, invalid) = (LAContext(), LAContext())
        silent.interactionNotAllowed = true
        invalid.invalidate()
        return [silent, invalid]
    }

    /// Access controls with a demand and without.
    static var controls: [SecAccessControl] {
        let pairs: [(String, SecAccessControlCreateFlags)] = [
            ("ak", []), ("cku", []), ("ak", .userPresence), ("akpu", .biometryCurrentSet),
            ("ck", [.devicePasscode, .or, .biometryAny]), ("dk", .applicationPassword),
            ("aku", .privateKeyUsage), ("f", []),
        ]
        return pairs.compactMap { SecAccessControlCreateWithFlags(nil, $0 as NSString, $1, nil) }
    }
}
