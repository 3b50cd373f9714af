// SPDX-License-Identifier: Apache-2.0

// The steps in which a member changes its circle: it admits devices, removes them, leaves, and
// chooses between branches. docs/SYNC.md §6. Each step expects that the session has just read the
// roster.

package import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
package import ValetSync

extension SyncSession {
    private static let leaving = "leave the circle"

    /// The offer to a device that this device invites.
    package var offer: InvitationOffer {
        InvitationOffer(
            circle: circle.circle, number: roster.accepted.number, head: roster.acceptedHash,
            sponsor: circle.device)
    }

    /// Whether the circle has room for another member.
    package var hasRoom: Bool { roster.accepted.members.count < Wraps.maximalMemberCount }

    /// Makes a device or a recovery key a member, and makes batches due that say how far this
    /// device has read.
    ///
    /// - Throws: As ``append(_:)``; ``KeychainFailure``.
    package func admit(_ member: Member) throws(KeychainFailure) {
        // A request that is repeated after a crash must not end in an entry that no device accepts.
        if roster.accepted.members[member.id] == nil {
            try append { (_, head) throws(KeychainFailure) in
                try self.addition(of: member, head)
            }
        }
        try oweTables()
        _ = try sendPending()
    }

    /// Removes members, after reading everything that they have written.
    ///
    /// - Returns: Whether a base has everything that was read. If not, something pending or damaged
    ///   keeps this device from building it, and it follows later.
    /// - Throws: As ``append(_:)``; ``KeychainFailure``.
    @discardableResult
    package func remove(
        _ devices: [DeviceID], _ progress: (SyncProgress) -> Void = { _ in }
    ) throws(KeychainFailure) -> Bool {
        try readLogs(progress)
        _ = try sendPending()
        let begun = machine.milliseconds()
        var hasBase = true
        for scope in KeyScope.allCases {
            let isSent = try sendBase(scope)
            hasBase = hasBase && isSent
        }
        try append { (state, head) throws(KeychainFailure) in
            let present = devices.filter { state.members[$0] != nil }
            return try self.removal(of: present, after: state, head)
        }
        try deleteLogsLater(of: devices, since: begun)
        if !hasBase { try oweBases() }
        return hasBase
    }

    /// Makes the keychain's recovery key a member, and notes which key it is.
    ///
    /// - Throws: As ``admit(_:)``.
    package func admitRecoveryKey(_ member: Member) throws(KeychainFailure) {
        let key = try keychain.store.keychain.status().recoveryPublicKey ?? []
        try admit(member)
        try keychain.update("note the recovery key") { update in
            update[.recovery] = member.id.bytes + key
        }
    }

    /// Removes the recovery member if its key is not the keychain's recovery key any more.
    func removeStaleRecoveryKey() throws(KeychainFailure) {
        let note = try keychain.read("look for the recovery key") { try $0[.recovery] } ?? nil
        let key = try keychain.store.keychain.status().recoveryPublicKey
        if let stale = roster.staleRecoveryKey(noted: note, present: key) { try remove([stale]) }
    }

    /// Sends what is pending, and leaves the circle. Items and replica stay.
    ///
    /// - Throws: As ``append(_:)``; `unsentChanges` if something could not be sent.
    package func leave() throws(KeychainFailure) {
        try readLogs()
        let isSent = try sendPending()
        let isIdle = try keychain.update(Self.leaving) { update in
            KeyScope.allCases.allSatisfy {
                (update.replica?[$0].hasNews == false || self.holdsItemsBack)
                    && update.replica?[$0].own.unconfirmed == nil
            }
        }
        guard isSent, isIdle else { throw KeychainFailure.circle(.unsentChanges) }
        let last = try lastMessages()
        try append { _, _ in .leave(last) }
        try forget(keepingReplica: true)
    }

    /// Forgets the circle on this device, without a message.
    ///
    /// - Parameter keepsReplica: Whether this device may come back, and then goes on where it was.
    package func forget(keepingReplica keepsReplica: Bool) throws(KeychainFailure) {
        let circle = circle.circle
        try keychain.update(Self.leaving) { update in
            guard keepsReplica else { return try update.end(keeping: []) }
            for name in [
                NoteName.circle, .roster, .report, .logTimes, .address, .paused, .recovery,
            ] {
                update[name] = nil
            }
            update[.left] = circle.bytes
        }
    }

    /// The last messages of this device's logs in the store, as its *leave* names them.
    private func lastMessages() throws(KeychainFailure) -> [RosterEntry.LastMessage] {
        let logs = try logs(of: [circle.device])
        return try look { replica in
            logs.compactMap { place in
                let position = replica[place.scope].position(of: place.log)
                guard position.number > 0 else { return nil }
                return RosterEntry.LastMessage(
                    place.scope, MessageName(log: place.log, number: position.number),
                    hash: position.hash)
            }
        }
    }

    /// Chooses between two branches that remove each other's authors: `device` counts as removed
    /// on this device.
    ///
    /// - Returns: false if there is nothing to choose, or the device is not among the authors.
    package func distrust(_ device: DeviceID) throws(KeychainFailure) -> Bool {
        guard !roster.alarm.isEmpty, roster.alarmAuthors.contains(device) else { return false }
        roster.distrust(device)
        try keepRoster()
        return true
    }

    /// Permits a device to replace more values than can be kept, until its messages were read.
    package func accept(_ device: DeviceID) throws(KeychainFailure) {
        report.accepted.insert(device.high)
        let bytes = report.bytes
        try keychain.update("permit a device to replace values") { $0[.report] = bytes }
    }
}

extension Roster {
    /// The recovery member, if its key was replaced or revoked since it joined: then the old paper
    /// must not open the circle any more.
    ///
    /// - Parameters:
    ///   - note: The note ``NoteName/recovery``.
    ///   - present: The public half of the keychain's recovery key; nil if it has none.
    package func staleRecoveryKey(noted note: [UInt8]?, present: [UInt8]?) -> DeviceID? {
        var reader = ByteReader(
            note ?? [], of: .member)
        guard let id = try? DeviceID(from: &reader), accepted.members[id] != nil else {
            return nil
        }
        return note?.dropFirst(id.bytes.count).elementsEqual(present ?? []) == true ? nil : id
    }

    /// The authors of the branches that this device cannot choose between.
    package var alarmAuthors: Set<DeviceID> {
        Set(kept.entries.filter { alarm.contains($0.hash) }.map(\.head.signer))
    }
}
