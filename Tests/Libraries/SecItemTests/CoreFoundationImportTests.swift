// SPDX-License-Identifier: Apache-2.0

import CoreFoundation
import Foundation
import Security
import Testing
import ValetTestSupport

import typealias Security.CFDictionary
import typealias Security.CFString
import typealias Security.CFTypeRef
import let Security.kCFBooleanTrue
import let Security.kSecClass

/// docs/PORTING.md: code that imports the system's module `CoreFoundation`, too.
@Suite struct `A file that imports CoreFoundation beside Security` {
    @Test func `Names imported from Security one by one are not ambiguous`() throws {
        #expect(TestProcess.isPrepared)
        let service: CFString = UUID().uuidString as CFString
        let count: CFIndex = CFStringGetLength(service)
        #expect(count == 36)
        let query =
            [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service,
                kSecReturnData: kCFBooleanTrue as Any,
            ] as CFDictionary
        var result: CFTypeRef?
        let status = unsafe SecItemCopyMatching(query, &result)
        #expect(status == errSecItemNotFound && result == nil)
    }
}
