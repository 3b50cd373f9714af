// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `The words for a code` {
    @Test(arguments: KeychainFailure.Code.allCases)
    func `Every code that a call returns has a message`(_ code: KeychainFailure.Code) {
        #expect(StatusMessage.text(for: code.status) != nil)
    }

    /// spec/secitem.md §1.9: codes that no caller sees have no public text.
    static let wordless: Set<OSStatus> = [
        errSecInternal, errSecPolicyDenied, errSecAuthNeeded, errSecWaitForCallback,
        errSecUpgradePending,
    ]

    @Test(arguments: Set(`The constants`.codes.map(\.0)).subtracting(wordless))
    func `Every code with a public text has that message`(_ code: OSStatus) throws {
        let words = try #require(SecCopyErrorMessageString(code, nil) as String?)
        #expect(!words.hasPrefix("OSStatus"))
        #expect(words.hasSuffix("."))
    }

    @Test(arguments: wordless.union([-12345, .min, .max]))
    func `Every other code has its number as message`(_ code: OSStatus) {
        #expect(SecCopyErrorMessageString(code, nil) as String? == "OSStatus \(code)")
    }

    @Test(
        arguments: [
            (errSecItemNotFound, -25300), (errSecDuplicateItem, -25299), (errSecParam, -50),
            (errSecNoSuchAttr, -25303), (errSecNoSuchClass, -25306), (errSecAuthFailed, -25293),
            (errSecMissingEntitlement, -34018), (errSecUnimplemented, -4), (errSecDecode, -26275),
            (errSecInteractionNotAllowed, -25308), (errSecUserCanceled, -128),
            (errSecNotAvailable, -25291), (errSecDiskFull, -34), (errSecDskFull, -34),
        ] as [(OSStatus, OSStatus)])
    func `The messages belong to the numbers of Apple's systems`(
        _ code: OSStatus, _ number: OSStatus
    ) {
        #expect(code == number)
    }
}
