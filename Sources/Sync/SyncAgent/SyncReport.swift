// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
package import ValetSync

/// The findings of the last rounds of sync, for `valet sync status`: docs/SYNC.md §8.
///
/// It is a note in the keychain, so that a command can show it while the agent runs.
package struct SyncReport: Hashable, Sendable {
    /// Something that the user may want to know, or has to act on.
    package struct Trouble: Hashable, Sendable {
        /// What it is.
        package let kind: Kind
        /// The device that it is about; nil if it is about the store, or about this device.
        package let device: DeviceID?
        /// The scope; nil for both.
        package let scope: KeyScope?
        /// How many there are, for kinds that are counted.
        package let count: UInt32
    }

    /// The kinds of trouble. The numbers are kept in the keychain.
    package enum Kind: UInt8, CaseIterable, Hashable, Sendable {
        /// A device has given wrong keys to this one.
        case unequalKeys = 1
        /// A device has signed a roster entry that breaks a rule.
        case refusedEntry = 2
        /// The store has lost entries of the roster, which were put back.
        case rosterWasLost = 3
        /// This keychain was restored or copied: it has taken a new log.
        case copied = 4
        /// A device writes from two places.
        case twoHistories = 5
        /// A device names messages of this one that it did not write.
        case claims = 6
        /// A message would bring more logs than a circle may have.
        case tooManyLogs = 7
        /// A device names more deleted records of the future than fit.
        case cloudIsFull = 8
        /// A device is about to replace or remove more values than can be kept.
        case replacedValuesAreFull = 9
        /// The store was set back to an older state.
        case storeWasSetBack = 10
        /// A live record cannot be read, so no base can be written.
        case unreadableRecord = 11
        /// The circle has more items than a base can hold.
        case circleIsTooLarge = 12
        /// A device has signed a message that breaks a rule; its log is read no further.
        case invalidMessage = 13
        /// Files that are not messages.
        case foreign = 14
        /// Messages that may still be arriving.
        case partial = 15
        /// A device writes in a later version.
        case newer = 16
        /// Messages name a key or a roster entry that this device does not have.
        case unknown = 17
        /// For an hour, messages that others have read have been missing from the store.
        case withheld = 18
        /// The clock of a device differs by more than ten minutes.
        case clock = 19
        /// A value is too large to travel.
        case tooLarge = 20
        /// A log has more files than are read.
        case logIsTooLong = 21
        /// No member has given the current keys to this device.
        case noKeys = 22
        /// Two members remove each other, and a person has to choose.
        case undecided = 23
        /// Another member has to make new keys, because a device has left.
        case keysAreToBeChanged = 24
        /// The roster has more files than are read.
        case rosterIsTooLong = 25
    }

    /// What this device knows of another one.
    package struct Device: Hashable, Sendable {
        /// When it wrote the newest message that was read: milliseconds since 1970, by its clock.
        package var lastSeen: UInt64 = 0
        /// The numbers up to which it has read the logs of this device.
        package var reads: [LogID: UInt64] = [:]
        /// By how many milliseconds its clock was ahead of this one when a message of it was new.
        package var clockDifference: Int64 = 0
    }

    /// The state after the last round.
    package var state = SyncState.off
    /// When the last round ended: milliseconds since 1970.
    package var milliseconds: UInt64 = 0
    /// The devices, as far as messages of them were read.
    package private(set) var devices: [DeviceID: Device] = [:]
    package private(set) var troubles: Set<Trouble> = []
    /// The names of some files in the store that belong to no circle.
    package private(set) var foreignNames: Set<String> = []
    private static let foreignNameCount = 5
    /// The first halves of the ids of devices that may replace more values than can be kept, until
    /// all their messages are read. `valet sync accept` names them.
    package var accepted: Set<UInt64> = []
    /// Whether this device has read everything that its sponsor had read when it admitted this
    /// device.
    package var hasJoined = false
    /// The sponsor's table at that time, in each scope in which the sponsor's message was read.
    var joinTargets: [KeyScope: LogTable] = [:]
    /// The positions that messages of others name, in this session.
    private(set) var claimed: [KeyScope: LogTable] = [:]
    private var ownHalf: UInt64 = 0

    /// Nothing is known.
    package init() {}

    // MARK: Notes of a round

    mutating func beginRound(at milliseconds: UInt64, self device: DeviceID) {
        troubles = []
        foreignNames = []
        self.milliseconds = milliseconds
        ownHalf = device.high
    }

    mutating func add(
        _ kind: Kind, device: DeviceID? = nil, scope: KeyScope? = nil, count: Int = 1
    ) {
        guard count > 0 else { return }
        troubles.insert(
            Trouble(kind: kind, device: device, scope: scope, count: UInt32(clamping: count)))
    }

    /// Takes note of files that no member has signed. No device is blamed for them.
    mutating func addForeign(
        _ count: Int, named names: [String], besideMessagesOf device: DeviceID? = nil,
        _ scope: KeyScope? = nil
    ) {
        add(.foreign, device: device, scope: scope, count: count)
        for name in names where foreignNames.count < Self.foreignNameCount {
            foreignNames.insert(name)
        }
    }

    /// All logs of both scopes were read as far as possible. Ends the acceptance of each device,
    /// unless one of its logs goes on. Files that never become messages do not count: they would
    /// prolong it without end.
    ///
    /// - Parameter waiting: The logs that have messages which cannot be read yet.
    mutating func endAcceptance(except waiting: some Sequence<LogPlace>) {
        let unread = troubles.filter { Self.unreadKinds.contains($0.kind) }.compactMap(\.device)
        let halves = Set((unread + waiting.map(\.device)).map(\.high))
        accepted.formIntersection(halves)
    }

    /// The kinds that say that a log was not read to its end, and may be later.
    private static let unreadKinds: Set<Kind> = [
        .partial, .unknown, .replacedValuesAreFull, .logIsTooLong, .cloudIsFull, .tooManyLogs,
        .twoHistories,
    ]

    /// Notes that a message of a log was joined.
    mutating func saw(_ place: LogPlace, _ milliseconds: UInt64, _ table: LogTable) {
        var device = devices[place.device] ?? Device()
        device.lastSeen = max(device.lastSeen, milliseconds)
        let difference = Int64(clamping: milliseconds) - Int64(clamping: self.milliseconds)
        // An old message says nothing of the clock; one from the future does.
        if difference > 600_000 { device.clockDifference = difference }
        if abs(difference) <= 600_000 { device.clockDifference = 0 }
        for (log, position) in table where log.high == ownHalf {
            device.reads[log] = max(device.reads[log] ?? 0, position.number)
        }
        devices[place.device] = device
        for (log, position) in table
        where position.number > claimed[place.scope]?[log]?.number ?? 0 {
            claimed[place.scope, default: [:]][log] = position
        }
    }

    /// Whether another device has read a log up to a message.
    func hasRead(_ log: LogID, upTo number: UInt64) -> Bool {
        devices.values.contains { $0.reads[log] ?? 0 >= number }
    }

    /// Takes note of the members.
    mutating func note(_ roster: Roster, self device: DeviceID) {
        ownHalf = device.high
        devices = devices.filter { roster.membership(of: $0.key) != .none }
        if !roster.alarm.isEmpty { add(.undecided) }
        for (id, known) in devices where known.clockDifference != 0 { add(.clock, device: id) }
        if roster.outstanding.needsRotation || !roster.outstanding.removals.isEmpty {
            add(.keysAreToBeChanged)
        }
    }

    // MARK: Bytes

    /// The bytes of the note.
    package var bytes: [UInt8] {
        var bytes = [UInt8](fields: state.rawValue, milliseconds, devices)
        // In an order of their own, so that equal reports have equal bytes.
        let troubles = troubles.map { [UInt8](fields: $0) }
        bytes.append(bigEndian: UInt32(troubles.count))
        bytes += troubles.sorted { $0.lexicographicallyPrecedes($1) }.flatMap(\.self)
        bytes += [UInt8](fields: accepted, hasJoined, UInt8(joinTargets.count))
        for scope in KeyScope.allCases {
            if let table = joinTargets[scope] { bytes += [UInt8](fields: scope, table) }
        }
        bytes.append(UInt8(foreignNames.count))
        for name in foreignNames.sorted() {
            bytes.append(bigEndian: UInt16(clamping: name.utf8.count))
            bytes += name.utf8.prefix(Int(UInt16.max))
        }
        return bytes
    }

    /// Reads ``bytes``; anything else is a report that knows nothing.
    package init(lastOf bytes: [UInt8]) {
        var reader = ByteReader(bytes, of: .message)
        do {
            state = SyncState(rawValue: try reader.integer()) ?? .off
            let troubles: [Trouble]
            (milliseconds, devices, troubles, accepted, hasJoined) = try reader.fields()
            self.troubles = Set(troubles)
            for _ in 0..<(try reader.integer(UInt8.self)) {
                let scope = try KeyScope(from: &reader)
                joinTargets[scope] = try LogTable(from: &reader)
            }
            // Notes of former versions end here.
            guard !reader.isAtEnd else { return }
            for _ in 0..<(try reader.integer(UInt8.self)) {
                let name = try reader.bytes(Int(try reader.integer(UInt16.self)))
                foreignNames.insert(String(decoding: name, as: UTF8.self))
            }
        } catch {
            self = SyncReport()
        }
    }
}

extension SyncReport.Device: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        (lastSeen, clockDifference, reads) = try reader.fields()
    }

    package func append(to bytes: inout [UInt8]) {
        bytes += [UInt8](fields: lastSeen, clockDifference, reads)
    }
}

extension SyncReport.Trouble: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        guard let kind = SyncReport.Kind(rawValue: try reader.integer()) else {
            throw reader.malformed
        }
        self.kind = kind
        scope = KeyScope(rawValue: try reader.integer())
        let device = try DeviceID(from: &reader)
        self.device = device == .zero ? nil : device
        count = try reader.integer()
    }

    package func append(to bytes: inout [UInt8]) {
        bytes += [UInt8](fields: kind.rawValue, scope?.rawValue ?? 0, device ?? .zero, count)
    }
}

/// Troubles that are reported only after an hour, because messages may be on their way.
struct LastingTroubles {
    /// Logs whose position a new reader, which begins with nothing, could not reach.
    var unreachable: [KeyScope: LastingStates<LogID>] = [:]
    private var missing: [KeyScope: LastingStates<MessageName>] = [:]
    private var unknown = LastingStates<LogPlace>()

    mutating func missing(
        _ names: Set<MessageName>, in scope: KeyScope, at milliseconds: UInt64
    ) -> Int {
        missing[scope, default: LastingStates()].update(names, at: milliseconds).count
    }

    mutating func unknown(_ places: Set<LogPlace>, at milliseconds: UInt64) -> Set<LogPlace> {
        unknown.update(places, at: milliseconds)
    }
}

extension SyncSession {
    /// Reports the files on the shelves of the open scopes that could not be read.
    func reportShelves(_ scopes: [KeyScope]) {
        var waiting: Set<LogPlace> = []
        for (place, shelf) in shelves where scopes.contains(place.scope) {
            let (device, scope) = (place.device, place.scope)
            let refusals = shelf.refused.values
            report.addForeign(
                refusals.count { $0 == .foreign } + shelf.foreignCount,
                named: shelf.foreignNames, besideMessagesOf: device, scope)
            report.add(
                .partial, device: device, scope: scope, count: refusals.count { $0 == .partial })
            if shelf.isTooLong { report.add(.logIsTooLong, device: device, scope: scope) }
            if refusals.contains(.newer) { report.add(.newer, device: device, scope: scope) }
            if refusals.contains(.unknown) { waiting.insert(place) }
            let isInvalid = refusals.contains { if case .invalid = $0 { true } else { false } }
            if isInvalid { report.add(.invalidMessage, device: device, scope: scope) }
        }
        let now = machine.milliseconds()
        for place in lasting.unknown(waiting, at: now) {
            report.add(.unknown, device: place.device, scope: place.scope)
        }
        for scope in scopes {
            guard let table = report.claimed[scope],
                let missing = try? look({ $0[scope].missing(in: [table]) })
            else { continue }
            let count = lasting.missing(missing, in: scope, at: now)
            report.add(.withheld, scope: scope, count: count)
        }
    }
}
