// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetKeychainServices

/// What `SecItemAdd` was asked.
struct AddRequest: Hashable {
    var item: NewItem
    var value: Data?
    var returning: ReturnedParts
    var interaction: Interaction
}

/// What `SecItemCopyMatching` was asked.
struct CopyRequest: Hashable {
    var search: SearchRequest
    var returning: ReturnedParts
    /// Whether the answer is an array even if it holds one thing.
    var isList: Bool
}

/// What `SecItemUpdate` was asked.
struct UpdateRequest: Hashable {
    var search: SearchRequest
    var changes: ItemChanges
    var value: Data?
}

/// Which items a call is about; all that `SecItemDelete` is asked.
struct SearchRequest: Hashable {
    var query: ItemQuery
    /// False for what no item can match, such as a limit of none.
    var canMatch: Bool
    var interaction: Interaction
}

/// Whether a person may be asked, and with what words (spec/secitem.md §10.5).
struct Interaction: Hashable {
    var userInterface: AuthenticationPolicy.UserInterface = .allow
    var prompt: String?
    /// The context that asks; nil for a new one that remembers nothing.
    var context: Context?

    /// A context, which is equal to itself alone.
    struct Context: Hashable {
        let object: any AuthenticationContext

        static func == (left: Context, right: Context) -> Bool { left.object === right.object }

        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(object)) }
    }

    /// The same, for a session.
    var policy: AuthenticationPolicy {
        AuthenticationPolicy(userInterface, reason: prompt, authenticator: context?.object)
    }
}

/// What a call gives back: the `kSecReturn…` flags that are true.
struct ReturnedParts: OptionSet, Hashable {
    let rawValue: UInt8

    static let data = ReturnedParts(rawValue: 1)
    static let attributes = ReturnedParts(rawValue: 2)
    /// An object; passwords have none, but the answer becomes a dictionary with the class.
    static let object = ReturnedParts(rawValue: 4)
    static let persistentReference = ReturnedParts(rawValue: 8)
}
