// SPDX-License-Identifier: Apache-2.0

import Foundation
import Security
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

/// One row of a table: a dictionary and the code that a call answers before it looks for items.
struct StatusRow: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let dictionary: @Sendable () -> NSDictionary
    let status: OSStatus

    /// A generic password's dictionary with `more`; a nil value takes a key away.
    init(
        _ description: String, _ more: @autoclosure @escaping @Sendable () -> [NSString: Any?],
        _ status: OSStatus
    ) {
        testDescription = description
        dictionary = {
            let keys: [NSString: Any?] = [kSecClass: kSecClassGenericPassword]
            return keys.merging(more()) { $1 }.compactMapValues { $0 } as NSDictionary
        }
        self.status = status
    }

    /// The dictionary without its class, as an update sets it.
    var changes: NSDictionary {
        let changes = NSMutableDictionary(dictionary: dictionary())
        changes.removeObject(forKey: kSecClass)
        return changes
    }
}

/// The code that the parse of `dictionary` for `call` ends with; 0 if it is a request.
func parseStatus(_ call: SecItemCall, _ dictionary: NSDictionary) -> OSStatus {
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
func changesStatus(_ changes: NSDictionary) -> OSStatus {
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

var genericPassword: NSDictionary { [kSecClass: kSecClassGenericPassword] }
var internetPassword: NSDictionary { [kSecClass: kSecClassInternetPassword] }

/// `base` with the keys of `more`.
func + (base: NSDictionary, more: NSDictionary) -> NSDictionary {
    let sum = NSMutableDictionary(dictionary: base)
    sum.addEntries(from: more)
    return sum
}
