// SPDX-License-Identifier: Apache-2.0

import Foundation
import KeychainModel
import TestValues
import Testing

@testable import KeychainServices

@Suite struct `A dictionary of anything` {
    static let documented: Set<OSStatus> = [
        errSecSuccess, errSecParam, errSecNoSuchAttr, errSecNoSuchClass, errSecUnimplemented,
        errSecMissingEntitlement,
    ]

    @Test(arguments: 0..<8)
    func `gets a documented code`(_ seed: UInt64) {
        var random = SplitMix(seed: seed)
        for _ in 0..<1000 {
            let dictionary = Self.dictionary(&random)
            let changes = Self.dictionary(&random).filter { $0.key != kSecClass }
            for call in SecItemCall.allCases {
                #expect(Self.documented.contains(parseStatus(call, dictionary)))
            }
            #expect(Self.documented.contains(changesStatus(changes)))
        }
    }

    @Test(arguments: 0..<4)
    func `gets the same code every time`(_ seed: UInt64) {
        var random = SplitMix(seed: seed)
        for _ in 0..<500 {
            let dictionary = Self.dictionary(&random)
            let copy = Dictionary(uniqueKeysWithValues: dictionary.map { ($0, $1) }.shuffled())
            for call in SecItemCall.allCases {
                #expect(parseStatus(call, dictionary) == parseStatus(call, copy))
            }
        }
    }

    private static func dictionary(_ random: inout SplitMix) -> CFDictionary {
        var result: CFDictionary = [:]
        if Int.random(in: 0..<8, using: &random) > 0 {
            result[kSecClass] = ["genp", "inet", "keys", "x"].randomElement(using: &random)
        }
        for _ in 0..<Int.random(in: 0..<5, using: &random) {
            let key = keys.randomElement(using: &random) ?? ""
            result[key] = values[Int.random(in: 0..<values.count, using: &random)]
        }
        return result
    }

    private static let keys =
        Attribute.allCases.map(\.rawValue) + [
            kSecClass, kSecMatchLimit, kSecMatchIssuers, kSecMatchValidOnDate, kSecMatchPolicy,
            kSecMatchHostOrSubdomainOfHost, kSecReturnData, kSecReturnRef, kSecReturnAttributes,
            kSecReturnPersistentRef, kSecValueData, kSecValueRef, kSecValuePersistentRef,
            kSecUseAuthenticationUI, kSecUseNoAuthenticationUI, kSecUseItemList, "nleg", "", "v",
            "😀", "😀😀", "tomb", "clip", "filter", "m", "r_", "u_Tomb", "\u{0}\u{0}\u{0}\u{0}",
        ]

    nonisolated private static var values: [Any] {
        [
            "", "a", "ak", "genp", kSecMatchLimitAll, kSecAttrSynchronizableAny, "1", "é",
            kSecUseAuthenticationUISkip, Data(), Data([0xFF]), Data("genp".utf8) + Data(count: 16),
            true, false, 0, 1, -1, Int.max, Int.min, UInt64.max, 1.5, Double.nan, Float.infinity,
            Date(), Date.distantFuture, UUID(), NSNull(), NSObject(), [1], ["a": 1], Decimal(1),
            Optional<Int>.none as Any, AnyHashable(true), NSNumber(value: true), NSArray(),
        ]
    }
}
