// SPDX-License-Identifier: Apache-2.0

import ValetKeychainModel

/// The states of spec/keys-and-states.md §5, of which Z, K and I are those of a keychain without a
/// passcode.
enum TableState: Int, CaseIterable {
    case absent, noPasscode, beforeFirstUnlock, unlocked, locked, keyUnavailable, incomplete
}

/// What one call answers about an item of each class in each state.
struct StateTable: Sendable {
    let operation: StateOperation
    /// Where it is written.
    let section: String
    /// A line for some classes, with an answer for each state in their order.
    private let lines: [String: [String]]

    init(_ operation: StateOperation, _ section: String, _ lines: String) {
        self.operation = operation
        self.section = section
        var answers: [String: [String]] = [:]
        for line in lines.split(separator: "\n") {
            let parts = line.split(separator: ":")
            for code in parts[0].split(separator: " ") {
                answers[String(code)] = parts[1].split(separator: " ").map(String.init)
            }
        }
        self.lines = answers
    }

    /// The answer of one cell; nil if the table lacks it.
    func status(_ protectionClass: ProtectionClass, _ state: TableState) -> Int32? {
        guard let line = lines[protectionClass.code], line.count == TableState.allCases.count
        else { return nil }
        return Self.answers[line[state.rawValue]]
    }

    private static let answers: [String: Int32] = [
        "ok": 0, "none": -25300, "twice": -25299, "locked": -25308, "gone": -25291,
    ]

    /// spec/keys-and-states.md is named where it differs from spec/secitem.md: it holds.
    static let all = [
        // Z, N, B, U, L, K, I
        StateTable(
            .add, "spec/keys-and-states.md §5 add, add akpu; spec/secitem.md §9.5",
            """
            ak aku:         ok   ok     locked ok     locked gone gone
            akpu:           gone gone   locked ok     locked gone gone
            ck cku dk dku:  ok   ok     locked ok     ok     gone gone
            """),
        StateTable(
            .addAgain, "spec/secitem.md §9.3: locked is checked before duplicates",
            """
            ak aku:         ok   twice  locked twice  locked gone gone
            akpu:           gone gone   locked twice  locked gone gone
            ck cku dk dku:  ok   twice  locked twice  twice  gone gone
            """),
        StateTable(
            .addOverOtherClass, "spec/secitem.md §2.3: a locked item has its place",
            """
            ak aku:         ok   twice  locked twice  twice  gone gone
            akpu:           ok   ok     locked twice  twice  gone gone
            ck cku dk dku:  ok   twice  locked twice  twice  gone gone
            """),
        StateTable(
            .set, "spec/keys-and-states.md §5 add / update",
            """
            ak aku:         ok   ok     locked ok     locked gone gone
            akpu:           gone gone   locked ok     locked gone gone
            ck cku dk dku:  ok   ok     locked ok     ok     gone gone
            """),
        StateTable(
            .updateByKey, "spec/secitem.md §9.3 update",
            """
            ak aku:         none ok     locked ok     locked gone gone
            akpu:           none none   locked ok     locked gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .updateByLabel, "spec/secitem.md §9.3 update",
            """
            ak aku:         none ok     locked ok     locked gone gone
            akpu:           none none   locked ok     locked gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .updateFromClass, "spec/keys-and-states.md §5 add / update: the item is sealed anew",
            """
            ak aku:         none ok     locked ok     locked gone gone
            akpu:           none none   locked ok     locked gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .updateToClass, "spec/keys-and-states.md §5 add / update, add akpu",
            """
            ak aku:         none ok     locked ok     locked gone gone
            akpu:           none gone   locked ok     locked gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .deleteByKey, "spec/keys-and-states.md §5 delete; spec/secitem.md §7",
            """
            ak aku:         none ok     locked ok     ok     gone gone
            akpu:           none none   locked ok     ok     gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .deleteByLabel, "spec/keys-and-states.md §5 delete: by index",
            """
            ak aku:         none ok     locked ok     ok     gone gone
            akpu:           none none   locked ok     ok     gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .deleteByReference, "spec/secitem.md §7 persistent reference",
            """
            ak aku:         none ok     locked ok     ok     gone gone
            akpu:           none none   locked ok     ok     gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .deleteByDate, "spec/keys-and-states.md §8, case 15: an attribute without an index",
            """
            ak aku:         none ok     locked ok     locked gone gone
            akpu:           none none   locked ok     locked gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .deleteSynchronizable, "docs/decisions: no tombstone without the item's names",
            """
            ak aku:         none ok     locked ok     locked gone gone
            akpu:           none none   locked ok     locked gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .deleteMissing, "spec/secitem.md §7 zero matches",
            """
            ak aku akpu:    none none   locked none   none   gone gone
            ck cku dk dku:  none none   locked none   none   gone gone
            """),
        StateTable(
            .copyData, "spec/keys-and-states.md §5 read; spec/secitem.md §9.3",
            """
            ak aku:         none ok     locked ok     locked gone gone
            akpu:           none none   locked ok     locked gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .copyAttributes, "spec/secitem.md §9.3 attributes only",
            """
            ak aku:         none ok     locked ok     locked gone gone
            akpu:           none none   locked ok     locked gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .exists, "spec/secitem.md §9.3 no return flag",
            """
            ak aku:         none ok     locked ok     locked gone gone
            akpu:           none none   locked ok     locked gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .copyByReference, "spec/keys-and-states.md §5 read; spec/secitem.md §8",
            """
            ak aku:         none ok     locked ok     locked gone gone
            akpu:           none none   locked ok     locked gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .copyAllOfMixedClasses, "spec/secitem.md §9.3 limit all: the whole call",
            """
            ak aku:         none ok     locked ok     locked gone gone
            akpu:           none ok     locked ok     locked gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .copyOneBeforeAvailable, "spec/secitem.md §9.3 limit one: the first row met",
            """
            ak aku:         none ok     locked ok     locked gone gone
            akpu:           none ok     locked ok     locked gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .copyOneAfterAvailable, "spec/secitem.md §9.3 limit one: the first row met",
            """
            ak aku akpu:    none ok     locked ok     ok     gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .copyAvailableClass, "spec/secitem.md §9.3 explicit pdmn",
            """
            ak aku akpu:    none ok     locked ok     ok     gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .copyMissing, "spec/keys-and-states.md §5 read, no row matches",
            """
            ak aku akpu:    none none   locked none   none   gone gone
            ck cku dk dku:  none none   locked none   none   gone gone
            """),
        StateTable(
            .typedValue, "spec/keys-and-states.md §5 read",
            """
            ak aku:         none ok     locked ok     locked gone gone
            akpu:           none none   locked ok     locked gone gone
            ck cku dk dku:  none ok     locked ok     ok     gone gone
            """),
        StateTable(
            .typedContains, "spec/secitem.md §9.3 no return flag; false is no failure",
            """
            ak aku:         ok   ok     locked ok     locked gone gone
            akpu:           ok   ok     locked ok     locked gone gone
            ck cku dk dku:  ok   ok     locked ok     ok     gone gone
            """),
        StateTable(
            .typedMissing, "spec/keys-and-states.md §5 read, no row matches",
            """
            ak aku akpu:    none none   locked none   none   gone gone
            ck cku dk dku:  none none   locked none   none   gone gone
            """),
        StateTable(
            .typedAccounts, "spec/secitem.md §9.3 attributes only; none is no failure",
            """
            ak aku:         ok   ok     locked ok     locked gone gone
            akpu:           ok   ok     locked ok     locked gone gone
            ck cku dk dku:  ok   ok     locked ok     ok     gone gone
            """),
    ]
}
