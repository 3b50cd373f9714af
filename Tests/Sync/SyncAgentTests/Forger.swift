// SPDX-License-Identifier: Apache-2.0

import ValetKeychainModel
import ValetSealing
import ValetSyncSupport

@testable import ValetSync
@testable import ValetSyncAgent

// A member that lies: it signs whatever a test wants, with its own keys.

extension TestMember {
    /// What a forged message says, beside what its author knows.
    struct Forgery {
        var scope = KeyScope.whileUnlocked
        /// The log; nil for a new one of this device.
        var log: LogID?
        var number: UInt64 = 1
        var previous = SyncHash.zero
        var table: LogTable = [:]
        var covers: [Dot] = []
        var records: [SyncRecord] = []
    }

    /// A record of an item.
    func record(
        _ account: String, _ value: String, time: UInt64? = nil,
        as protectionClass: ProtectionClass = .whenUnlocked
    ) throws -> SyncRecord {
        var attributes = AttributeList(reservingCapacity: 3)
        attributes.set(.text("app"), for: Attribute.accessGroup.tag)
        attributes.set(.text(account), for: Attribute.account.tag)
        attributes.set(.text("service"), for: Attribute.service.tag)
        let content = RecordContent(
            .genericPassword, protectionClass, kind: .value(.text(value)),
            attributes: attributes)
        return SyncRecord(
            time: time ?? clock.milliseconds << 16, salt: RecordSalt(high: 1, low: 2),
            content: content.encoded)
    }

    /// Puts a batch into the store that says what the test wants.
    ///
    /// - Returns: Its place and its name.
    @discardableResult
    func forge(_ forgery: Forgery) throws -> (place: LogPlace, name: MessageName, hash: SyncHash) {
        let log = forgery.log ?? LogID(of: id, random: .random(), foreign: [])
        let name = MessageName(log: log, number: forgery.number)
        var table = forgery.table
        table[log] = LogPosition(number: forgery.number - 1, hash: forgery.previous)
        let batch = Batch(
            milliseconds: clock.milliseconds, reads: 1, table: table, covers: forgery.covers,
            records: forgery.records)
        guard let key = try session.keyring(forgery.scope)?.newest else {
            throw TestProblem(text: "the member has no key")
        }
        let place = LogPlace(session.circle.circle, id, forgery.scope, log)
        let header = MessageHeader(
            .batch, name.number, in: place, after: forgery.previous,
            naming: (session.roster.acceptedHash, key.key.id))
        let built = try session.withIdentity(forgery.scope) {
            batch.built(header, under: key.key, signedBy: $0.signing, random: .random())
        }
        guard let built else { throw TestProblem(text: "the member is locked") }
        let outcome = try client.append(
            built.bytes, at: LogPosition(number: name.number, hash: built.hash), to: .log(place),
            after: nil, by: session.storeDeadline)
        guard outcome == .stored else { throw TestProblem(text: "\(outcome)") }
        return (place, name, built.hash)
    }
}
