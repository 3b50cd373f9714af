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
        package let kind: Kind
        /// The device that it is about; nil if it is about the store, or about this device.
        package let device: DeviceID?
        /// The scope; nil for both.
        package let scope: KeyScope?
        package let count: UInt32
    }

    /// The kinds of trouble, for which `valet sync status` has texts. The numbers are kept in the
    /// keychain.
    package enum Kind: UInt8, CaseIterable, Hashable, Sendable {
        case unequalKeys = 1
        case refusedEntry = 2
        case rosterWasLost = 3
        case copied = 4
        case twoHistories = 5
        case claims = 6
        case tooManyLogs = 7
        case cloudIsFull = 8
        case replacedValuesAreFull = 9
        case storeWasSetBack = 10
        case unreadableRecord = 11
        case circleIsTooLarge = 12
        case invalidMessage = 13
        case foreign = 14
        case partial = 15
        case newer = 16
        case unknown = 17
        case withheld = 18
        case clock = 19
        case tooLarge = 20
        case logIsTooLong = 21
        case noKeys = 22
        case undecided = 23
        case keysAreToBeChanged = 24
        case rosterIsTooLong = 25
    }

    package struct Device: Hashable, Sendable {
        /// When it wrote the newest message that was read: milliseconds since 1970, by its clock.
        package var lastSeen: UInt64 = 0
        /// The number of the last message that it has read, for each log of this device.
        package var reads: [LogID: UInt64] = [:]
        /// How many milliseconds its clock was ahead of this device's, according to its last new
        /// message; 0 if the clocks differed by ten minutes at most.
        package var clockDifference: Int64 = 0
    }

    package var state = SyncState.off
    /// When the last round ended: milliseconds since 1970.
    package var milliseconds: UInt64 = 0
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
    /// The sponsor's table when it admitted this device, in each scope whose message was read.
    var joinTargets: [KeyScope: LogTable] = [:]
    /// The positions that messages of others name, in this session.
    private(set) var claimed: [KeyScope: LogTable] = [:]
    private var ownHalf: UInt64 = 0

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

    /// Call this when all logs of both scopes have been read as far as possible. Removes each
    /// device from ``accepted``, unless one of its logs has more to read. Files that never become
    /// messages do not count: they would keep a device accepted for ever.
    ///
    /// - Parameter waiting: The logs that have messages which cannot be read yet.
    mutating func endAcceptance(except waiting: some Sequence<LogPlace>) {
        let unread = troubles.filter { Self.unreadKinds.contains($0.kind) }.compactMap(\.device)
        let halves = Set((unread + waiting.map(\.device)).map(\.high))
        accepted.formIntersection(halves)
    }

    /// The kinds that say that something is missing which another device, the store or a person
    /// has to bring.
    package static let waitingKinds: Set<Kind> = [
        .partial, .unknown, .withheld, .tooManyLogs, .cloudIsFull, .replacedValuesAreFull,
        .logIsTooLong, .noKeys,
    ]

    /// The kinds that say that an item cannot travel.
    package static let heldBackKinds: Set<Kind> = [.tooLarge, .unreadableRecord]

    /// Whether there are items that cannot travel. No other device sends them.
    package var holdsItemsBack: Bool { troubles.contains { Self.heldBackKinds.contains($0.kind) } }

    /// The kinds that say that a log was not read to its end, but may be read further later.
    private static let unreadKinds: Set<Kind> = [
        .partial, .unknown, .replacedValuesAreFull, .logIsTooLong, .cloudIsFull, .tooManyLogs,
        .twoHistories,
    ]

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

    /// The bytes of the note: equal reports have equal bytes. The first byte is the state, which
    /// programs without sync read.
    package var bytes: [UInt8] {
        [UInt8](
            fields: state.rawValue, milliseconds, devices, troubles, accepted, hasJoined,
            joinTargets, foreignNames)
    }

    /// Reads ``bytes``; anything else is a report that knows nothing.
    package init(lastOf bytes: [UInt8]) {
        do {
            let number: UInt8
            (
                number, milliseconds, devices, troubles, accepted, hasJoined, joinTargets,
                foreignNames
            ) = try bytes.fields(of: .message)
            state = SyncState(rawValue: number) ?? .off
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

extension SyncReport.Trouble: ByteField, Comparable {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        let number: UInt8
        (number, scope, device, count) = try reader.fields()
        guard let kind = SyncReport.Kind(rawValue: number) else { throw reader.malformed }
        self.kind = kind
    }

    package func append(to bytes: inout [UInt8]) {
        bytes += [UInt8](fields: kind.rawValue, scope, device, count)
    }

    /// Orders by the bytes.
    package static func < (left: Self, right: Self) -> Bool {
        [UInt8](fields: left).lexicographicallyPrecedes([UInt8](fields: right))
    }
}

/// Troubles that are reported only after an hour, because messages may be on their way.
struct LastingTroubles {
    /// Logs that a new device could not read up to this device's position.
    var unreachable: [KeyScope: LastingStates<LogID>] = [:]
    var missing: [KeyScope: LastingStates<MessageName>] = [:]
    var unknown = LastingStates<LogPlace>()
}

extension SyncSession {
    /// Reports the files on the shelves of the open scopes that could not be read.
    func reportShelves(_ scopes: [KeyScope]) throws(KeychainFailure) {
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
        for place in lasting.unknown.update(waiting, at: now) {
            report.add(.unknown, device: place.device, scope: place.scope)
        }
        for scope in scopes {
            guard let table = report.claimed[scope] else { continue }
            let missing = try look { $0[scope].missing(in: [table]) }
            let lasting = lasting.missing[scope, default: LastingStates()].update(missing, at: now)
            report.add(.withheld, scope: scope, count: lasting.count)
        }
    }
}
