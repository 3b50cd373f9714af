// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

/// What a call finds: one type in every layer, from a row to the session.
///
/// A locked keychain and a damaged item are no cases, but errors: ``RowFailure`` inside a
/// transaction, ``KeychainFailure`` outside. After an error the call is made again if the keychain
/// was replaced in the meantime. A search that finds other items reports damage beside them.
package enum ItemResult<Found> {
    /// The item, or what the call makes of it.
    case found(Found)
    /// No item matches, or the call leaves it out.
    case absent
    /// Nothing was done: the item needs the user or a password first.
    case needsPerson(PersonDemand)
}

extension ItemResult: Sendable where Found: Sendable {}

extension ItemResult {
    /// The same result, with what `body` makes of what was found.
    package func map<New>(_ body: (Found) -> New) -> ItemResult<New> {
        switch self {
        case .found(let found): .found(body(found))
        case .absent: .absent
        case .needsPerson(let demand): .needsPerson(demand)
        }
    }
}

/// What the user or the application has to provide before a call can go on.
///
/// Thrown in a write transaction that must not go on without it; the transaction is rolled back.
package enum PersonDemand: Error, Hashable, Sendable {
    /// Proofs for all of these. Each is there once, with the fingers that it is bound to.
    case proofs([AccessControl])
    /// The passwords that open these boxes, each of which is there once.
    case passwords([PasswordLock])
    /// A password for values that are not sealed under one yet.
    case newPassword

    /// What all of `demands` ask for, as far as it can be met at once; nil for none.
    ///
    /// Proofs come first: a box is found only with them. A new password comes last, so that the
    /// user is not asked for one in vain.
    package init?(_ demands: [PersonDemand]) {
        var accessControls: [AccessControl] = []
        var locks: [PasswordLock] = []
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
