// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetTestValues

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `A dictionary of anything` {
    static let documented: Set<OSStatus> = [
        errSecSuccess, errSecParam, errSecNoSuchAttr, errSecNoSuchClass, errSecUnimplemented,
        errSecMissingEntitlement, errSecItemNotFound,
    ]

    @Test(arguments: 0..<8)
    func `A random dictionary gets a documented code`(_ seed: UInt64) {
        var random = SplitMix(seed: seed)
        for _ in 0..<1000 {
            let dictionary = [String: Any].random(&random)
            let changes = [String: Any].random(&random).filter { $0.key != "class" }
            for call in SecItemCall.allCases {
                #expect(Self.documented.contains(parseStatus(call, dictionary as NSDictionary)))
            }
            #expect(Self.documented.contains(changesStatus(changes as NSDictionary)))
        }
    }

    @Test(arguments: 0..<4)
    func `A random dictionary gets the same code every time`(_ seed: UInt64) {
        var random = SplitMix(seed: seed)
        for _ in 0..<500 {
            let random = [String: Any].random(&random)
            let copied = Dictionary(uniqueKeysWithValues: random.map { ($0, $1) }.shuffled())
            let (dictionary, copy) = (random as NSDictionary, copied as NSDictionary)
            for call in SecItemCall.allCases {
                #expect(parseStatus(call, dictionary) == parseStatus(call, copy))
            }
        }
    }
}
