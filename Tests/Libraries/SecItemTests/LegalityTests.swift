// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `What each call accepts` {
    /// One key, and what the four calls and the second dictionary of an update answer to it.
    struct Row: Sendable, CustomTestStringConvertible {
        let key: String
        let value: @Sendable () -> Any
        /// In the order of the columns of spec/secitem.md §3.3.
        let statuses: [OSStatus]

        init(
            _ key: NSString, _ value: @autoclosure @escaping @Sendable () -> Any,
            _ statuses: [OSStatus]
        ) {
            self.key = key as String
            self.value = value
            self.statuses = statuses
        }

        var testDescription: String { "\(key) = \(value())" }
    }

    /// spec/secitem.md §3.3: copy, add, update, what an update sets, delete.
    static let rows = [
        Row(kSecAttrAccount, "a", [0, 0, 0, 0, 0]),
        Row(kSecAttrSynchronizable, kSecAttrSynchronizableAny, [0, 0, 0, 0, 0]),
        Row(kSecAttrAccessible, kSecAttrAccessibleAlways, [0, 0, 0, 0, 0]),
        Row(kSecAttrAccessControl, 1, [-50, -50, -50, -50, -50]),
        Row(kSecAttrCreationDate, Date(), [0, 0, 0, 0, 0]),
        Row(kSecAttrModificationDate, Date(), [0, 0, 0, 0, 0]),
        Row(kSecValueData, Data(), [0, 0, 0, 0, 0]),
        Row(kSecValueData, "a", [-50, -50, 0, -50, 0]),
        Row(kSecValueRef, "a", [-50, -50, -50, -25303, -50]),
        Row(kSecMatchLimit, kSecMatchLimitOne, [0, -50, 0, -25303, 0]),
        Row(kSecMatchLimit, kSecMatchLimitAll, [0, -50, 0, -25303, 0]),
        Row(kSecMatchLimit, 5, [0, -50, 0, -25303, 0]),
        Row(kSecMatchLimit, -1, [0, -50, 0, -25303, 0]),
        Row(kSecMatchCaseInsensitive, true, [0, -50, 0, -25303, 0]),
        Row(kSecMatchItemList, [1], [0, -50, -50, -25303, -50]),
        Row("m_Unknown", 1, [0, -50, -50, -25303, -50]),
        Row(kSecReturnData, true, [0, 0, 0, -25303, 0]),
        Row(kSecReturnAttributes, true, [0, 0, 0, -25303, 0]),
        Row(kSecReturnRef, true, [0, 0, 0, -25303, 0]),
        Row(kSecReturnPersistentRef, true, [0, 0, 0, -25303, 0]),
        Row(kSecReturnData, false, [0, 0, 0, -25303, 0]),
        Row(kSecReturnData, 1, [-50, -50, 0, -25303, 0]),
        Row(kSecUseItemList, [1], [-50, -50, -50, -25303, -50]),
        Row(kSecUseAuthenticationContext, NSObject(), [0, 0, 0, -25303, 0]),
        Row(kSecUseAuthenticationUI, kSecUseAuthenticationUIAllow, [0, 0, 0, -25303, 0]),
        Row(kSecUseAuthenticationUI, kSecUseAuthenticationUIFail, [0, 0, 0, -25303, 0]),
        Row(kSecUseAuthenticationUI, kSecUseAuthenticationUISkip, [0, -50, -50, -25303, -50]),
        Row(kSecUseAuthenticationUI, 1, [0, 0, 0, -25303, 0]),
        Row(kSecUseOperationPrompt, "why", [0, 0, 0, -25303, 0]),
        Row(kSecUseDataProtectionKeychain, true, [0, 0, 0, 0, 0]),
        Row(kSecUseUserIndependentKeychain, true, [0, 0, 0, -25303, 0]),
        Row(kSecAttrTokenID, kSecAttrTokenIDSecureEnclave, [0, 0, 0, 0, 0]),
        Row("zzzz", 1, [-25303, -25303, -25303, -25303, -25303]),
        Row("other", 1, [-50, -50, -50, -25303, -50]),
    ]

    @Test(arguments: rows)
    func `Each SecItem call accepts the keys of the table`(_ row: Row) {
        let dictionary = genericPassword + [row.key: row.value()]
        #expect(
            row.statuses == [
                parseStatus(.copyMatching, dictionary), parseStatus(.add, dictionary),
                parseStatus(.update, dictionary), changesStatus([row.key: row.value()]),
                parseStatus(.delete, dictionary),
            ])
    }

    @Test func `An update does not accept a class in its changes`() {
        #expect(changesStatus(genericPassword) == errSecNoSuchAttr)
    }

    @Test func `Each SecItem call that may ask accepts a prompt`() throws {
        let query = genericPassword + [kSecUseOperationPrompt: "why"]
        #expect(try CopyRequest(query).search.policy.reason == "why")
    }

    /// spec/secitem.md §10.5.
    @Test(arguments: [
        (StatusRow("nothing", [:], 0), AuthenticationPolicy.UserInterface.allow),
        (StatusRow("allow", [kSecUseAuthenticationUI: kSecUseAuthenticationUIAllow], 0), .allow),
        (StatusRow("fail", [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail], 0), .fail),
        (StatusRow("skip", [kSecUseAuthenticationUI: kSecUseAuthenticationUISkip], 0), .skip),
        (StatusRow("the retired key", [kSecUseNoAuthenticationUI: true], 0), .fail),
        (StatusRow("the retired key, off", [kSecUseNoAuthenticationUI: false], 0), .allow),
    ])
    func `Each SecItem call knows whether the user may be asked`(
        _ row: StatusRow, _ expected: AuthenticationPolicy.UserInterface
    ) throws {
        let request = try CopyRequest(row.dictionary())
        #expect(request.search.policy.userInterface == expected)
    }

    @Test func `Each SecItem call refuses an unknown way to ask`() {
        let query = genericPassword + [kSecUseAuthenticationUI: "u_Auth"]
        #expect(parseStatus(.copyMatching, query) == errSecParam)
    }
}
