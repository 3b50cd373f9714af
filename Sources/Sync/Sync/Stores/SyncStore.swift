// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSystem

/// A place where the devices of circles leave bytes for each other: docs/SYNC.md §7. The agent of
/// sync calls it, and docs/STORES.md says how to write another one.
///
/// A store is trusted with nothing. It may withhold, return and repeat bytes, so callers verify all
/// that they read. Calls block until their deadline at most. They are made from one thread at a
/// time, except ``waitForChange(in:within:)``, which may run on another thread.
///
/// Every call throws ``KeychainFailure``. Each may throw `unavailable`, `denied`, `timedOut` and
/// `malformed`, and each that writes may throw `full`. All calls but those about mails throw
/// `unavailable` where the mark of the circle is missing, and then change nothing: a folder that
/// is not mounted must not be filled.
package protocol SyncStore: Sendable {
    var guarantee: StoreGuarantee { get }

    /// Makes the place of a circle with its mark. Does nothing if the circle is here.
    func create(_ circle: CircleID, by deadline: Deadline) throws(KeychainFailure)

    /// Throws `unavailable` where the mark of the circle is missing. Creates nothing.
    func check(_ circle: CircleID, by deadline: Deadline) throws(KeychainFailure)

    /// The logs of `devices` in ascending order, at most twice ``StoreLimits/logCount`` for each
    /// device. A log may have no message any more.
    func logs(
        of devices: [DeviceID], in circle: CircleID, by deadline: Deadline
    ) throws(KeychainFailure) -> [LogPlace]

    /// Lists what is in a place, without reading it.
    ///
    /// Deleted files may be listed again, because a tool that copies a folder may bring them back.
    /// So the owner of a log compares its list with its deletions, and deletes again.
    func list(_ place: StorePlace, by deadline: Deadline) throws(KeychainFailure) -> StoreListing

    /// Reads files that ``list(_:by:)`` named, at most ``StoreLimits/readCount`` at once. The
    /// answer has the order of the names.
    func read(
        _ names: [StoredName], in place: StorePlace, by deadline: Deadline
    ) throws(KeychainFailure) -> [StoredBytes]

    /// Writes the next message of a log of this device, or the next entry of a roster.
    ///
    /// A store with a head (etcd) writes only if the head is `head`; if the head is `position`
    /// already, the bytes count as stored. A folder always writes. No store overwrites other bytes.
    /// While it is not known whether a server has made the change, this asks the server until the
    /// deadline, and then throws `outcomeUnknown`. The call is idempotent: the caller may repeat
    /// it.
    ///
    /// - Parameters:
    ///   - position: The number and the hash of the message or of the entry.
    ///   - head: The last position that the caller knows to be in the store; nil for none.
    func append(
        _ bytes: [UInt8], at position: LogPosition, to place: StorePlace, after head: LogPosition?,
        by deadline: Deadline
    ) throws(KeychainFailure) -> AppendOutcome

    /// Writes files and leaves the head as it is: the parts of a base, before the base is appended,
    /// and entries of a roster that the store has lost. The same call may be made again.
    ///
    /// - Returns: ``AppendOutcome/taken`` if other bytes have one of these names. Some of the files
    ///   may have been written then.
    func put(
        _ files: [StoreFile], in place: StorePlace, by deadline: Deadline
    ) throws(KeychainFailure) -> AppendOutcome

    /// Deletes messages and parts of a log of this device. Names that do not exist count as
    /// deleted.
    func delete(
        _ names: [StoredName], in log: LogPlace, by deadline: Deadline
    ) throws(KeychainFailure)

    /// Deletes all logs of a device that was removed or has left.
    func deleteLogs(
        of device: DeviceID, in circle: CircleID, by deadline: Deadline
    ) throws(KeychainFailure)

    /// Leaves a mail of an invitation. It is in the store for ``StoreLimits/mailLifetime`` at
    /// least, unless it is deleted.
    func post(_ mail: StoredMail, to mailbox: MailboxID, by deadline: Deadline)
        throws(KeychainFailure)

    /// The mails of an invitation, by rising steps; at most ``StoreLimits/mailCount`` of each step.
    /// More than one of a step means that another sponsor or joiner answers the invitation.
    func mails(in mailbox: MailboxID, by deadline: Deadline) throws(KeychainFailure) -> [StoredMail]

    /// Deletes a mail. Its author does so when the invitation ends.
    func delete(
        _ mail: StoredMail, from mailbox: MailboxID, by deadline: Deadline
    ) throws(KeychainFailure)

    /// Removes the leftovers of broken-off writes and forgotten invitations, if the store does not
    /// do so itself. Callers do this once a day.
    func removeLeftovers(by deadline: Deadline) throws(KeychainFailure)

    /// Waits until something may have changed since the circle was last listed, or until `limit`
    /// ends the wait, and returns true in the first case. The result is only a hint. At times it is
    /// true without a change, so a caller that follows it misses no change for long.
    ///
    /// A caller that waits for other things, too, runs this on a thread of its own, or ends it by
    /// the cancellation in `limit`. A wait that cannot reach the store ends only with `limit`, or
    /// throws; callers then wait before they try again.
    func waitForChange(in circle: CircleID, within limit: WaitLimit) throws(KeychainFailure) -> Bool
}

/// What is true once a call has stored something.
package enum StoreGuarantee: Hashable, Sendable {
    /// The bytes are on the disk of this machine. The tables of other devices show whether they
    /// have them.
    case onThisDisk
    /// The bytes are in the store, where all others read them.
    case inTheStore
}

package enum StoreLimits {
    /// How many names one call reads: 16 messages or parts are 4 MiB.
    package static let readCount = 16
    /// The most names of one log that are listed. A log with more waits.
    package static let nameCount = 100_000
    /// The most logs of a device in one scope that are listed. A circle may have fewer.
    package static let logCount = 4096
    /// The most mails of one step of an invitation that are read. An honest invitation has one mail
    /// of a step; anybody can add others, which do not open.
    package static let mailCount = 256
    /// The mails of a step that are read. If there are too many, the choice is random, so that
    /// nobody can decide which are left out.
    package static func chosen(of names: [StoredName]) -> [StoredName] {
        guard names.count > mailCount else { return names.sorted() }
        return names.shuffled().prefix(mailCount).sorted()
    }

    package static let mailLifetime = Duration.seconds(15 * 60)
}

package struct LogPlace: Hashable, Sendable {
    package let circle: CircleID
    package let device: DeviceID
    package let scope: KeyScope
    package let log: LogID

    package init(_ circle: CircleID, _ device: DeviceID, _ scope: KeyScope, _ log: LogID) {
        (self.circle, self.device, self.scope, self.log) = (circle, device, scope, log)
    }
}

package enum StorePlace: Hashable, Sendable {
    case roster(CircleID)
    case log(LogPlace)

    package var circle: CircleID {
        switch self {
        case .roster(let circle): circle
        case .log(let log): log.circle
        }
    }

    /// The most bytes of a file here.
    package var maximalByteCount: Int {
        switch self {
        case .roster: RosterEntry.maximalByteCount
        case .log: MessageFormat.maximalByteCount
        }
    }
}

/// The name of something that was listed in a ``StorePlace``. It is valid for the store that gave
/// it.
package struct StoredName: Hashable, Comparable, Sendable {
    package let number: UInt64
    /// The index of a part; nil for the message itself.
    package let part: UInt32?
    /// Half of the hash of the bytes; nil in a store whose names have no hash. In a folder, the
    /// names of files of one number may differ only in this hash.
    package let hash: FileHash?

    package init(number: UInt64, part: UInt32?, hash: FileHash?) {
        (self.number, self.part, self.hash) = (number, part, hash)
    }

    /// Orders by number, messages before their parts, then by index and hash.
    package static func < (left: StoredName, right: StoredName) -> Bool {
        if left.number != right.number { return left.number < right.number }
        let (leftPart, rightPart) = (left.part.map(Int.init) ?? -1, right.part.map(Int.init) ?? -1)
        if leftPart != rightPart { return leftPart < rightPart }
        return left.hash ?? .zero < right.hash ?? .zero
    }
}

package struct StoreListing: Hashable, Sendable {
    /// The names, rising.
    package var names: [StoredName] = []
    /// How many other names there are. Files that desktops and folder-copying programs leave behind
    /// do not count.
    package var foreignCount = 0
    /// Some of these other names, unescaped: anybody may have chosen them.
    package var foreignNames: [String] = []
    /// Whether there are more names than ``StoreLimits`` allows. Then `names` is empty, and the log
    /// waits.
    package var isTooLong = false

    package init() {}
}

/// What the store has under a name.
package enum StoredBytes: Hashable, Sendable {
    /// Bytes within the limits, which fit the hash in their name if it has one.
    case bytes([UInt8])
    case missing
    /// Bytes that do not fit the hash, which may still be arriving.
    case partial
    /// Not a file, or too many bytes.
    case foreign
}

package struct StoreFile: Hashable, Sendable {
    package let number: UInt64
    /// The index of a part; nil for a roster entry.
    package let part: UInt32?
    package let bytes: [UInt8]

    package init(number: UInt64, part: UInt32? = nil, bytes: [UInt8]) {
        (self.number, self.part, self.bytes) = (number, part, bytes)
    }

    /// The name where names have hashes.
    package var name: StoredName {
        StoredName(number: number, part: part, hash: StoreNames.hash(of: bytes))
    }
}

package enum AppendOutcome: Hashable, Sendable {
    /// The store has the bytes, from this call or from an earlier one.
    case stored
    /// Nothing was written, because the head is this one; nil if the place has no head.
    case otherHead(LogPosition?)
    /// The head fits, but other bytes have the name. Another copy of this keychain may have written
    /// them.
    case taken
}

package struct StoredMail: Hashable, Sendable {
    /// Its step. Nobody has checked it.
    package let step: Mail.Step
    /// Its bytes, at most ``Mail/maximalByteCount``.
    package let bytes: [UInt8]

    package init(_ step: Mail.Step, _ bytes: [UInt8]) { (self.step, self.bytes) = (step, bytes) }
}

// Why a store could not be used.

extension KeychainFailure.Code {
    /// The folder is not mounted, no server answers, or the circle is not here: try later.
    package static let storeUnavailable = Self(
        "storeUnavailable", status: -25291, "the store is not available")
    /// The store refuses this user or this device: its credentials or permissions must change.
    package static let storeDenied = Self("storeDenied", status: -25291, "the store refuses access")
    /// There is no room. Nothing was written.
    package static let storeFull = Self("storeFull", status: -34, "the store is full")
    /// The deadline passed. Of an append nothing was written; make any other call again.
    package static let storeTimedOut = Self(
        "storeTimedOut", status: -25291, "the store did not answer in time")
    /// The deadline passed, and a server may still make the change: make the same call again.
    package static let storeOutcomeUnknown = Self(
        "storeOutcomeUnknown", status: -25291,
        "the store did not say in time whether it made the change")
    /// The store answered with something that it must not answer with.
    package static let storeMalformed = Self(
        "storeMalformed", status: -25291, "the store gave an answer that makes no sense")
    /// The address, or a file that goes with it, cannot be used: it must change.
    package static let badStoreAddress = Self(
        "badStoreAddress", status: -50, "the address of the store cannot be used")

    package static let ofStores: [Self] = [
        .storeUnavailable, .storeDenied, .storeFull, .storeTimedOut, .storeOutcomeUnknown,
        .storeMalformed, .badStoreAddress,
    ]

    fileprivate var hintOnStores: String? {
        switch self {
        case .storeUnavailable: "mount the folder, or start the server; sync goes on by itself"
        case .storeDenied: "check the permissions of the folder, or the user and certificate"
        case .storeFull: "make room in the store; sync goes on by itself"
        case .storeTimedOut, .storeOutcomeUnknown:
            "check the network and the servers; sync tries again"
        case .storeMalformed: "check that the address is that of a store"
        default: nil
        }
    }
}

extension KeychainFailure {
    /// The failure of a call of a store.
    ///
    /// - Parameters:
    ///   - reason: What the system or the server said, in one line; never bytes of a message.
    ///   - hint: The remedy; if nil, the default remedy for `code`.
    package static func store(
        _ code: Code, during operation: String, reason: String? = nil, hint: String? = nil
    ) -> KeychainFailure {
        KeychainFailure(
            code, during: operation, message: reason.map { "\(code.explanation) (\($0))" },
            hint: hint ?? code.hintOnStores)
    }
}
