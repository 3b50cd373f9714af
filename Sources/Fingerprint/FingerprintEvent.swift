// SPDX-License-Identifier: Apache-2.0

/// What a person is told while their finger is waited for.
package enum FingerprintEvent: Hashable, Sendable {
    /// How a finger is to be used on a reader.
    package enum Gesture: Hashable, Sendable {
        /// Put on it.
        case press
        /// Moved over it.
        case swipe
    }

    /// Why a scan was of no use. The finger is waited for still.
    package enum RetryReason: Hashable, Sendable {
        /// No reason was given.
        case unclear
        /// The finger was moved too quickly, or not far enough.
        case tooShort
        /// The finger was beside the middle.
        case notCentered
        /// The finger has to be taken off first.
        case removeFinger
    }

    /// The reader of that name waits for a finger.
    case waiting(reader: String, gesture: Gesture)
    /// A scan was of no use; it does not count as a try.
    case retry(RetryReason)
    /// The finger is none of the enrolled ones; so many more tries are left, one or two.
    case noMatch(triesLeft: Int)
}
