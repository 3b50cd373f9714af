// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

/// One row of a table: a dictionary and the code that a call answers before it looks for items.
struct StatusRow: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let dictionary: @Sendable () -> [String: Any]
    let status: OSStatus

    /// A generic password's dictionary with `more`; a nil value takes a key away.
    init(
        _ description: String, _ more: @autoclosure @escaping @Sendable () -> [String: Any?],
        _ status: OSStatus
    ) {
        testDescription = description
        dictionary = {
            var result: [String: Any] = [kSecClass: kSecClassGenericPassword]
            for (key, value) in more() { result[key] = value }
            return result
        }
        self.status = status
    }
}

/// The code that the parse of `dictionary` for `call` ends with; 0 if it is a request.
func parseStatus(_ call: SecItemCall, _ dictionary: [String: Any]) -> OSStatus {
    status {
        switch call {
        case .add: _ = try AddRequest(dictionary)
        case .copyMatching: _ = try CopyRequest(dictionary)
        case .update: _ = try UpdateRequest(dictionary, [:])
        case .delete: _ = try SearchRequest(deleting: dictionary)
        }
    }
}

/// The code that the parse of `changes` ends with in an update of generic passwords.
func changesStatus(_ changes: [String: Any]) -> OSStatus {
    status { _ = try UpdateRequest([kSecClass: kSecClassGenericPassword], changes) }
}

private func status(_ body: () throws -> Void) -> OSStatus {
    do {
        try body()
        return errSecSuccess
    } catch let failure as KeychainFailure {
        return failure.status
    } catch {
        return errSecInternalComponent
    }
}

var genericPassword: [String: Any] { [kSecClass: kSecClassGenericPassword] }
var internetPassword: [String: Any] { [kSecClass: kSecClassInternetPassword] }

/// `base` with the keys of `more`.
func + (base: [String: Any], more: [String: Any]) -> [String: Any] {
    base.merging(more) { $1 }
}
