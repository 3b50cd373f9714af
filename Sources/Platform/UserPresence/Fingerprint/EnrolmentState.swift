// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// Which fingers a user has enrolled on a reader, as bytes that can be compared later.
///
/// fprintd reports the names of enrolled fingers (`right-index-finger`) and of the reader, and
/// nothing about the prints. So adding or removing a finger changes the state, and so does another
/// model of reader. **Removing a finger and enrolling another one under the same name, even another
/// person's, does not change it**, nor does another reader of the same model. Data that is bound to
/// this state is bound to names: a user with the right to enroll can replace a print unnoticed.
package struct EnrolmentState: Hashable, Sendable {
    /// 64 bytes. The first half names the reader: BLAKE2b-256 of `LP("valet/1/fingerprint-reader")`
    /// and `LP` of its name. The second is BLAKE2b-256 of `LP("valet/1/enrolled-fingers")`, `LP` of
    /// the reader's name, then `LP` of each finger's name, sorted by their bytes.
    ///
    /// Format: docs/FORMAT.md §5.4.
    package let bytes: [UInt8]

    init(reader: String, fingers: [String]) {
        bytes = Self.digest(ofReader: reader) + Self.digest(ofFingers: fingers, on: reader)
    }

    private static func digest(ofReader reader: String) -> [UInt8] {
        var parts = LengthPrefixed()
        parts.append("valet/1/fingerprint-reader")
        parts.append(reader)
        return parts.withBytes { Digest(of: $0) }.bytes
    }

    private static func digest(ofFingers fingers: [String], on reader: String) -> [UInt8] {
        var parts = LengthPrefixed()
        parts.append("valet/1/enrolled-fingers")
        parts.append(reader)
        for finger in Set(fingers).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            parts.append(finger)
        }
        return parts.withBytes { Digest(of: $0) }.bytes
    }
}
