// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `The words for a code` {
    @Test(arguments: KeychainFailure.Code.allCases)
    func `exist for everything that a call answers`(_ code: KeychainFailure.Code) {
        #expect(StatusMessage.text(for: code.status) != nil)
    }

    /// spec/secitem.md §1.9: codes that no caller sees have no public text.
    static let wordless: Set<OSStatus> = [
        errSecInternal, errSecPolicyDenied, errSecAuthNeeded, errSecWaitForCallback,
        errSecUpgradePending,
    ]

    @Test(arguments: Set(`The constants`.codes.map(\.0)).subtracting(wordless))
    func `exist for every code that has a public text`(_ code: OSStatus) throws {
        let words = try #require(SecCopyErrorMessageString(code, nil) as String?)
        #expect(!words.hasPrefix("OSStatus"))
        #expect(words.hasSuffix("."))
    }

    @Test(arguments: wordless.union([-12345, .min, .max]))
    func `are the number for every other code`(_ code: OSStatus) {
        #expect(SecCopyErrorMessageString(code, nil) == "OSStatus \(code)")
    }

    @Test(
        arguments: [
            (errSecItemNotFound, -25300), (errSecDuplicateItem, -25299), (errSecParam, -50),
            (errSecNoSuchAttr, -25303), (errSecNoSuchClass, -25306), (errSecAuthFailed, -25293),
            (errSecMissingEntitlement, -34018), (errSecUnimplemented, -4), (errSecDecode, -26275),
            (errSecInteractionNotAllowed, -25308), (errSecUserCanceled, -128),
            (errSecNotAvailable, -25291), (errSecDiskFull, -34), (errSecDskFull, -34),
        ] as [(OSStatus, OSStatus)])
    func `go with the numbers of Apple's systems`(_ code: OSStatus, _ number: OSStatus) {
        #expect(code == number)
    }
}
