// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetSecretMemory

/// The session of this process, once it was asked for.
final class SessionSlot: Sendable {
    /// A child of `fork` keeps its parent's session: the store knows how to open anew.
    static let current = ProcessLocal<SessionSlot> { inherited in
        SessionSlot(inherited?.session.withLockIfAvailable { $0 } ?? nil)
    }

    private let session: Mutex<KeychainSession?>

    private init(_ known: KeychainSession?) {
        session = Mutex(known)
    }

    var known: KeychainSession? { session.withLock { $0 } }

    /// Keeps the first session that is made.
    func keep(_ new: KeychainSession) -> KeychainSession {
        session.withLock { session in
            if let session { return session }
            session = new
            return new
        }
    }
}
