// SPDX-License-Identifier: Apache-2.0

/// What a key change has done besides. The change itself is complete.
package struct KeyChangeOutcome: Sendable {
    /// The number of damaged rows that were set aside.
    package var setAsideCount = 0
    /// Why old keys may still be on the disk; nil if they are erased. The next write tries again.
    package var pendingErasure: KeychainFailure?

    /// The outcome of a change that has set this number of damaged rows aside.
    package init(setAsideCount: Int = 0) { self.setAsideCount = setAsideCount }
}

/// How much a change of keys destroys.
package struct ItemLoss: Hashable, Sendable {
    package let itemCount: Int
    package let formerCount: Int

    package init(itemCount: Int, formerCount: Int) {
        (self.itemCount, self.formerCount) = (itemCount, formerCount)
    }
}

/// What closing files has come to.
package struct Closing: Sendable {
    /// False while a call of another thread is using the files: it keeps them.
    package var isClosed = true
    /// Why changes that calls have reported as made are lost: somebody has removed the log, and
    /// only this process had it.
    package var loss: KeychainFailure?

    package init() {}
}
