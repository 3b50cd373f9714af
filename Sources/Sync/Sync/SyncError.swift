// SPDX-License-Identifier: Apache-2.0

package import ValetSealing
internal import ValetSystem

/// Why bytes of a circle were refused: the error of the module.
package struct SyncError: Error, Hashable, Sendable {
    /// What the caller should do about it.
    package enum Code: Hashable, Sendable {
        /// The bytes have another form, perhaps from a half-done write: count and leave them.
        case malformed
        /// Signed bytes of a later version: wait for a newer program.
        case newer
        /// The signature, the hash or the seal does not fit: count them and leave them.
        case tampered
        /// The author signed bytes that break a rule: read its log no further, and name the author.
        case invalid
        /// The bytes were made for another key than the given one.
        case wrongKey
    }

    package enum Subject: String, Hashable, Sendable {
        case message, batch, base, part, record, rosterEntry = "roster entry", member
        case circleKey = "circle key", mail, keptReplica = "kept replica"
    }

    /// Which rule of docs/SYNC.md was broken.
    package enum Rule: String, Hashable, Sendable {
        case form = "cut short, or bytes left over"
        case magic = "not its first bytes"
        case version = "its version"
        case limit = "more than the limit"
        case padding = "not padded"
        case order = "a list that does not rise strictly"
        case scope = "an unknown scope, or one that does not fit"
        case number = "a number of 0"
        case log = "a log of another device"
        case table = "a table without the author's log, or with another hash of it"
        case position = "a number with the hash of another"
        case reads = "reads no version"
        case dot = "a dot that is not in the table, or above it"
        case tag = "the tag of another record"
        case time = "a time above the greatest"
        case protection = "a protection class of the other scope"
        case content = "not an item that may travel"
        case moved = "more attributes than a moved item has"
        case own = "not the author's own messages"
        case count = "another number of dots"
        case signature = "not signed by its author"
        case seal = "not sealed so"
        case hash = "another hash"
        case commitment = "not the key that the roster commits to"
        case agreement = "a key that agrees on nothing"
        case circle = "of another circle"
        case parent = "not the entry after its parent"
        case signer = "signed by no member of its parent"
        case operation = "an unknown operation"
        case members = "not the right members"
        case returning = "an id that was used before"
        case epoch = "not the right epoch"
        case backdated = "older than what its signer knew"
        case step = "not a mail of this step"
        case answer = "neither yes nor no"
        case ended = "another mail of the same step"
    }

    package let code: Code
    package let subject: Subject
    package let rule: Rule

    package init(_ code: Code, _ rule: Rule, in subject: Subject) {
        (self.code, self.rule, self.subject) = (code, rule, subject)
    }

    static func entry(_ code: Code, _ rule: Rule) -> SyncError {
        SyncError(code, rule, in: .rosterEntry)
    }

    static func message(_ code: Code, _ rule: Rule) -> SyncError {
        SyncError(code, rule, in: .message)
    }

    static func key(_ rule: Rule) -> SyncError { SyncError(.invalid, rule, in: .circleKey) }

    static func mail(_ code: Code, _ rule: Rule) -> SyncError { SyncError(code, rule, in: .mail) }

    init(_ error: SystemError, _ code: Code, in subject: Subject) {
        switch error.code {
        case .wrongKey: self.init(.wrongKey, .seal, in: subject)
        default: self.init(code, .seal, in: subject)
        }
    }
}

extension ByteReader<SyncError> {
    /// Reads the bytes of a `subject` from the first on. Bytes of another form are `malformed`.
    package init(_ bytes: [UInt8], of subject: SyncError.Subject) {
        self.init(bytes, malformed: SyncError(.malformed, .form, in: subject))
    }
}

extension [UInt8] {
    /// The fields that make up the bytes of a `subject`.
    package func fields<each Field: ByteField>(
        of subject: SyncError.Subject
    ) throws(SyncError) -> (repeat each Field) {
        var reader = ByteReader(self, of: subject)
        let fields: (repeat each Field) = try reader.fields()
        try reader.finish()
        return fields
    }
}

extension SyncError: CustomStringConvertible {
    package var description: String { "\(subject.rawValue): \(rule.rawValue)" }
}
