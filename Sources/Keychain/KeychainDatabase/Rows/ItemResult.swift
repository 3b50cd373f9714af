// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

/// The result of a call: one type in every layer, from a row to the session.
///
/// A locked keychain and a damaged item are errors: ``SystemError`` inside a transaction,
/// ``KeychainFailure`` outside. After an error the call is repeated if the keychain was replaced
/// during it. A search that also finds sound items returns them together with the damage.
package enum ItemResult<Found> {
    /// The item, or what the call has made from it.
    case found(Found)
    /// No item matches, or the call leaves it out.
    case absent
    /// Nothing was done: the item needs the user or a password first.
    case needsPerson(PresenceDemand)
}

extension ItemResult: Sendable where Found: Sendable {}

extension ItemResult {
    /// The same result, with `body` applied to a found item.
    package func map<New, Failure: Error>(
        _ body: (Found) throws(Failure) -> New
    ) throws(Failure) -> ItemResult<New> {
        switch self {
        case .found(let found): .found(try body(found))
        case .absent: .absent
        case .needsPerson(let demand): .needsPerson(demand)
        }
    }
}

/// What the user or the application has to provide before a call can go on.
package enum PresenceDemand: Hashable, Sendable {
    /// Proofs for all of these access controls, none of them twice.
    case proofs([AccessControl])
    /// The passwords that open these boxes.
    case passwords([PassphraseBox])
    /// A password for values that are not sealed under one yet.
    case newPassword

    /// The part of `demands` to meet first; nil if `demands` is empty.
    ///
    /// Proofs come first, because only they show which boxes there are. A new password comes last,
    /// so that the user is not asked for one in vain.
    package init?(_ demands: [PresenceDemand]) {
        var accessControls: [AccessControl] = []
        var locks: [PassphraseBox] = []
        for demand in demands {
            switch demand {
            case .proofs(let new): accessControls += new.filter { !accessControls.contains($0) }
            case .passwords(let new): locks += new
            case .newPassword: break
            }
        }
        if !accessControls.isEmpty {
            self = .proofs(accessControls)
        } else if !locks.isEmpty {
            self = .passwords(locks)
        } else if !demands.isEmpty {
            self = .newPassword
        } else {
            return nil
        }
    }
}
