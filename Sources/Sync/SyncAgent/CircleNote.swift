// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
package import ValetSync
internal import ValetSystem

/// Which circle this keychain is in, and as which member: a note in the keychain. `valet sync
/// create` and `join` write it, every session reads it.
package struct CircleNote: Hashable, Sendable {
    package let circle: CircleID
    package let device: DeviceID
    /// Whether this device founded the circle: then its keys were made before the circle had an id.
    package let isFounder: Bool

    /// The circle that the keys of this device are made for: docs/SYNC.md §2.
    package var circleOfKeys: CircleID { isFounder ? .zero : circle }

    package init(_ circle: CircleID, _ device: DeviceID, isFounder: Bool) {
        (self.circle, self.device, self.isFounder) = (circle, device, isFounder)
    }

    package var bytes: [UInt8] { [1] + [UInt8](fields: circle, device, isFounder) }

    /// Parses ``bytes``. Any other bytes are `malformed`.
    package init(parsing bytes: [UInt8]) throws(SyncError) {
        var reader = ByteReader(bytes, of: .member)
        guard try reader.integer(UInt8.self) == 1 else { throw reader.malformed }
        (circle, device, isFounder) = try reader.fields()
        try reader.finish()
    }
}

/// The names that this device uses for all members, itself included: a note in the keychain. A
/// sponsor takes the name that a device gives itself; `valet sync devices rename` changes it.
package typealias DeviceNames = [DeviceID: String]

extension DeviceNames {
    /// Parses the note. Without a note there are no names; other bytes are `malformed`.
    package init(parsing bytes: [UInt8]?) throws(SyncError) {
        guard let bytes else {
            self = [:]
            return
        }
        self = try bytes.fields(of: .member)
    }
}

extension SyncUpdate {
    /// Notes the name of a device.
    ///
    /// - Throws: ``KeychainFailure``: `damaged` if the names of the others cannot be read, which
    ///   this would delete.
    package func setName(_ name: String, of device: DeviceID) throws(KeychainFailure) {
        let bytes = try self[.names]
        var names: DeviceNames
        do throws(SyncError) {
            names = try DeviceNames(parsing: bytes)
        } catch {
            throw KeychainFailure(
                .damaged, during: operation, message: "the names of the devices: \(error)")
        }
        names[device] = name
        try set(.names, [UInt8](fields: names))
    }
}

extension NoteName {
    /// ``CircleNote``.
    package static let circle = NoteName(Keychain.SyncNote.circle.rawValue)
    package static let roster: NoteName = "roster"
    /// ``SyncReport``.
    package static let report = NoteName(Keychain.SyncNote.report.rawValue)
    static let logTimes: NoteName = "log times"
    /// ``StoreAddress``.
    package static let address: NoteName = "address"
    /// ``DeviceNames``.
    package static let names: NoteName = "names"
    /// The circle that this keychain has left, whose replica it has kept.
    package static let left: NoteName = "left"
    /// The circle that this keychain is moving to.
    static let move: NoteName = "move"
    /// The recovery member's id, and the public half of the recovery key that it was made from.
    package static let recovery: NoteName = "recovery"
    /// Sync is paused while this note exists, whatever it contains.
    package static let paused = NoteName(Keychain.SyncNote.paused.rawValue)
}

/// Why a step of sync cannot be done now, beyond what store and keychain report.
extension KeychainFailure.Code {
    package static let noCircleKeys = Self(
        "noCircleKeys", status: -25291, "no device has given the keys of the circle to this one")
    package static let rosterInMotion = Self(
        "rosterInMotion", status: -25291, "other devices keep changing the circle")
    package static let notAMember = Self(
        "notAMember", status: -25291, "this device is not a member of its circle")
    package static let circleIsFull = Self(
        "circleIsFull", status: -25291,
        "the circle has changed its devices too often to do so again")
    package static let undecidedRoster = Self(
        "undecidedRoster", status: -25291,
        "two devices remove each other, and one of them is not yours")
    package static let unsentChanges = Self(
        "unsentChanges", status: -25291, "some changes are not in the store yet")
    package static let roundInterrupted = Self(
        "roundInterrupted", status: -25291, "the work was broken off")

    package static let invitationSeen = Self(
        "invitationSeen", status: -25291, "two devices have used the invitation: nobody joined")
    package static let invitationBroken = Self(
        "invitationBroken", status: -25291, "the other side broke the rules: nobody joined")
    package static let invitationWithdrawn = Self(
        "invitationWithdrawn", status: -25291, "the other device has ended the invitation")

    package static let ofCircles: [Self] = [
        .noCircleKeys, .rosterInMotion, .notAMember, .circleIsFull, .undecidedRoster,
        .unsentChanges, .roundInterrupted, .invitationSeen, .invitationBroken,
        .invitationWithdrawn,
    ]

    fileprivate var hintOnCircles: String? {
        switch self {
        case .noCircleKeys: "unlock another device and let it sync, then try again"
        case .rosterInMotion, .roundInterrupted: "try again"
        case .notAMember:
            "'valet sync leave --here' forgets the circle; then it can join again"
        case .circleIsFull: "'valet sync move' founds a new circle with the same items"
        case .undecidedRoster:
            "'valet sync status' names both; 'valet sync distrust' removes one"
        case .unsentChanges:
            "'valet sync status' says why; 'valet sync leave --here' leaves anyway"
        case .invitationSeen, .invitationBroken:
            "invite again, and show the invitation to nobody else"
        case .invitationWithdrawn: "'valet sync invite' there makes another one"
        default: nil
        }
    }
}

extension KeychainFailure {
    /// The failure of a change of the circle if scope `u`, which the change needs, is locked.
    package static var lockedCircle: KeychainFailure {
        KeychainFailure(
            .locked, during: "change the circle", hint: "unlock the keychain with `valet unlock`")
    }

    package static func circle(_ code: Code) -> KeychainFailure {
        KeychainFailure(code, during: "sync", hint: code.hintOnCircles)
    }
}
