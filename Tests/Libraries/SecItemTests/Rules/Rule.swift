// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

/// A rule of spec/secitem.md as data: calls in an empty keychain, and what each answers.
struct Rule: Sendable, CustomTestStringConvertible {
    /// The section, and what it says.
    let testDescription: String
    let calls: @Sendable () -> [Call]

    init(_ description: String, _ calls: @autoclosure @escaping @Sendable () -> [Call]) {
        testDescription = description
        self.calls = calls
    }

    /// Makes the calls and compares their answers.
    func check(_ location: SourceLocation = #_sourceLocation) {
        testCalls(calls(), of: testDescription, location)
    }
}

/// Makes calls in an empty keychain and compares their answers.
func testCalls(
    _ calls: [Call], of rule: String, _ location: SourceLocation = #_sourceLocation
) {
    let keychain = RuleKeychain()
    for (number, call) in calls.enumerated() {
        let expected = call.answer.description
        let actual = keychain.answer(call)
        #expect(
            actual == expected, "call \(number + 1) of “\(rule)”", sourceLocation: location)
    }
}

/// One call of a rule.
///
/// Its dictionaries are about generic passwords unless they name a class; a nil takes a key away,
/// and a ``Kept`` value stands for a persistent reference.
struct Call {
    typealias Keys = [String: Any?]

    enum Kind {
        case add(Keys)
        case copy(Keys)
        case update(Keys, Keys)
        case delete(Keys)
        case accounts
        case caller([String])
    }

    let kind: Kind
    let answer: Answer
    /// The name to keep the persistent reference under that is returned, or to compare it with.
    var reference: String?

    static func add(_ item: Keys, _ answer: Answer = .nothing) -> Call {
        Call(kind: .add(item), answer: answer)
    }

    static func add(_ account: String, _ more: Keys = [:], _ status: OSStatus = 0) -> Call {
        Call(
            kind: .add(
                ["acct": account, "v_Data": Data(account.utf8)].merging(more) { $1 }),
            answer: .status(status))
    }

    static func copy(_ query: Keys, _ answer: Answer) -> Call {
        Call(kind: .copy(query), answer: answer)
    }

    static func copy(_ query: Keys, _ status: OSStatus = 0) -> Call {
        Call(kind: .copy(query), answer: .status(status))
    }

    static func update(_ query: Keys, _ changes: Keys, _ status: OSStatus = 0) -> Call {
        Call(kind: .update(query, changes), answer: .status(status))
    }

    static func delete(_ query: Keys, _ status: OSStatus = 0) -> Call {
        Call(kind: .delete(query), answer: .status(status))
    }

    /// The accounts of all items in all groups, of both classes, synchronized or not.
    static func left(_ accounts: String...) -> Call {
        Call(kind: .accounts, answer: .texts(accounts.sorted()))
    }

    /// The calls that follow are those of another application with these groups.
    static func caller(_ groups: String...) -> Call {
        Call(kind: .caller(groups), answer: .nothing)
    }

    /// Finds one item and compares its dates with those that the last such call found.
    static func dates(
        _ query: Keys = [:], _ created: Answer.Change, _ modified: Answer.Change
    ) -> Call {
        Call(
            kind: .copy(query.merging(["r_Attributes": true]) { $1 }),
            answer: .dates(created: created, modified: modified))
    }

    /// Finds one item and keeps its persistent reference; the second time it must be the same.
    static func reference(_ name: String, _ query: Keys) -> Call {
        let query = query.merging(["r_PersistentRef": true]) { $1 }
        return Call(kind: .copy(query), answer: .kept, reference: name)
    }
}

/// The persistent reference that was kept under a name.
struct Kept {
    let name: String

    init(_ name: String) { self.name = name }
}

/// What a call answers.
enum Answer: CustomStringConvertible {
    /// A code without an object.
    case status(OSStatus)
    /// Success; the bytes of this text.
    case value(String)
    /// Success; a persistent reference.
    case reference
    /// Success; the persistent reference that was kept under the name, or that is new.
    case kept
    /// Success; a dictionary with exactly these keys.
    case keys(Set<String>)
    /// Success; a dictionary that has these values among others, types included.
    case has([String: Any])
    /// Success; an array of the bytes of these texts, in any order.
    case values([String])
    /// Success; an array of as many persistent references.
    case references(Int)
    /// Success; an array of as many dictionaries with exactly these keys.
    case list(Int, Set<String>)
    /// Texts, in their order.
    case texts([String])
    /// Success; a dictionary whose dates are so, compared with those that were seen before.
    case dates(created: Change, modified: Change)

    /// What became of a date.
    enum Change: String {
        case new, same, later, earlier
    }

    static var nothing: Answer { .status(errSecSuccess) }

    var description: String {
        switch self {
        case .status(let status): "\(status)"
        case .value(let text): "data “\(text)”"
        case .reference: "a reference"
        case .kept: "the same reference"
        case .keys(let keys): "a dictionary of \(keys.sorted())"
        case .has(let values): Self.text(values)
        case .values(let texts): "data of \(texts.sorted())"
        case .references(let count): "\(count) references"
        case .list(let count, let keys): "\(count) dictionaries of \(keys.sorted())"
        case .texts(let texts): "\(texts)"
        case .dates(let created, let modified): "created \(created), modified \(modified)"
        }
    }

    static func text(_ values: [String: Any]) -> String {
        values.sorted { $0.key < $1.key }
            .map { "\($0.key) is \(AttributeInput($0.value))" }.joined(separator: ", ")
    }
}
