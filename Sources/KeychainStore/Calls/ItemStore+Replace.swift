// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

/// Storing under a name that may lead to several items, or to one of another protection class.
extension ItemStore {
    /// Gives the item that `query` finds the value and the protection class of `addition`, or adds
    /// it; deletes what else `query` finds. All in one transaction.
    ///
    /// The item that is there keeps its group, attributes and persistent reference, and becomes
    /// synchronizable if the addition is. Of several the first that is as synchronizable as the
    /// addition stays. Damaged items are none; one in the place of an addition goes to quarantine.
    ///
    /// - Throws: ``KeychainFailure``: `missingEntitlement`, `valueTooLarge`, `passcodeNotSet`;
    ///   `locked` also if an item that is found is.
    package func replace(
        _ query: ItemQuery, with addition: Addition, for caller: Caller
    ) throws(KeychainFailure) {
        _ = try write("set an item", creating: true, caller) { (access) in
            try access.replace(query, with: addition, for: caller)
        }
    }
}

extension WriteAccess {
    fileprivate func replace(
        _ query: ItemQuery, with addition: Addition, for caller: Caller
    ) throws {
        let item = addition.item
        let groups = try caller.groups(changing: query.accessGroup, during: operation)
        try check(addition.value)
        // An unavailable class is reported before what is there: spec/secitem.md §3.10.
        _ = try state.cipher(item.protectionClass, during: operation)
        var matches = try openSound(query, groups)
        let isAlike = { (match: OpenedRow) in
            match.row.header.flags.contains(.synchronizable) == item.isSynchronizable
        }
        guard let chosen = matches.firstIndex(where: isAlike) ?? matches.indices.first else {
            _ = try add(addition, for: caller)
            return
        }
        let target = matches.remove(at: chosen)
        for other in matches { try deleteItem(other.row) }
        let changes = ItemChanges(
            isSynchronizable: item.isSynchronizable ? true : nil,
            protectionClass: item.protectionClass)
        try update(target, changes, value: addition.value)
    }

    /// Opens the rows that match, without damaged ones.
    private func openSound(
        _ query: ItemQuery, _ groups: [AccessGroup]
    ) throws -> [OpenedRow] {
        var matches: [OpenedRow] = []
        for case .row(let row) in try state.find(query, groups, store) {
            guard let opened = try openIfSound(row) else { continue }
            if try query.fits(opened.content) { matches.append(opened) }
        }
        return matches
    }
}
