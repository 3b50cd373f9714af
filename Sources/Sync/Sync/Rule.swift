// SPDX-License-Identifier: Apache-2.0

/// The rules of the replica and of the logs that a test can leave out, to see that the model
/// notices. Nothing but a test of this module can: ``ScopeReplica/omitted`` is internal, and a
/// release has neither it nor these names (`scripts/check-libraries` looks).
enum Rule {
    /// Deleted records of messages that were not read yet go into the cloud.
    case cloudOfCovers
    /// A class change leaves a record in the scope that the item came from.
    case movedIsLeft
    /// A write in one scope does not cover *moved* records of the other.
    case movedStays
    /// A row stays as it is while its item is on its way to the other scope.
    case rowStaysWhileMoving
    /// Rows of class 1 are left alone while the keychain is locked.
    case lockedRowsStay
    /// The greatest record of an item is shown.
    case greatestIsShown
    /// A base adds only records that were not seen.
    case baseAddsUnseen
    /// A base removes records that its author had seen and does not hold.
    case baseRemovesSeen
    /// A base has no live record above its table.
    case recordsAtOrBelowTable
    /// No message is built before a join is finished.
    case noMessageDuringJoin
    /// Pending changes go into a batch before a base.
    case baseBringsNothingNew
    /// A batch is joined only if it follows the last message that was read.
    case batchesFollow
    /// A base that contradicts what was read of its log is not joined.
    case basesContradict
    /// The contents of an unconfirmed message become pending again when its log is left.
    case unconfirmedIsTakenBack
    /// The position of a log that is left goes back to the last common message.
    case positionGoesBack
    /// Records that were covered from there on go into the cloud.
    case coversOfTheOldLog
    /// Live records of a log with two histories are brought anew.
    case bothHistoriesComeAnew
    /// A device does not read its own messages of a log that it left.
    case ownIsNotReadAgain
}

#if SYNC_RULES
    extension Rule: CaseIterable, Sendable {}

    extension ScopeReplica {
        func applies(_ rule: Rule) -> Bool { rule != omitted }
    }
#else
    extension ScopeReplica {
        @inline(__always) func applies(_ rule: Rule) -> Bool { true }
    }
#endif

extension Replica {
    @inline(__always) func applies(_ rule: Rule) -> Bool { firstUnlock.applies(rule) }
}
