// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainStore
internal import ValetSealing
package import ValetSync

/// Which circle this keychain is in, and as which member: a note in the keychain. `valet sync
/// create` and `join` write it, every session reads it.
package struct CircleNote: Hashable, Sendable {
    package let circle: CircleID
    /// This device's id in it.
    package let device: DeviceID
    /// Whether this device founded it: its keys were made before the circle had an id.
    package let isFounder: Bool

    /// The circle that the keys of this device are made for: docs/SYNC.md §2.
    package var circleOfKeys: CircleID { isFounder ? .zero : circle }

    /// A keychain that is the member `device` of `circle`.
    package init(_ circle: CircleID, _ device: DeviceID, isFounder: Bool) {
        (self.circle, self.device, self.isFounder) = (circle, device, isFounder)
    }

    /// The bytes of the note.
    package var bytes: [UInt8] { [1] + [UInt8](fields: circle, device, isFounder) }

    /// Reads ``bytes``.
    ///
    /// - Throws: ``SyncError``: `malformed`, `form`.
    package init(parsing bytes: [UInt8]) throws(SyncError) {
        var reader = ByteReader(bytes, of: .member)
        guard try reader.integer(UInt8.self) == 1 else { throw reader.malformed }
        (circle, device, isFounder) = try reader.fields()
        try reader.finish()
    }
}

extension NoteName {
    /// ``CircleNote``.
    package static let circle = NoteName(Keychain.SyncNote.circle.rawValue)
    /// ``Roster/Kept``.
    package static let roster: NoteName = "roster"
    /// ``SyncReport``: what the last round found.
    package static let report = NoteName(Keychain.SyncNote.report.rawValue)
    /// ``LogTimes``: when bases and old logs were written, to delete them later.
    static let logTimes: NoteName = "log times"
}
