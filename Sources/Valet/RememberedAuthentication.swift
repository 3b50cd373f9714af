// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// What a person has proved to one valet, until that is to be forgotten.
// Sendable because the lock is held wherever the authentication is touched.
final class RememberedAuthentication: @unchecked Sendable {
    private let lock = NSLock()
    private let make: @Sendable () -> Authentication
    private var authentication: Authentication

    /// Nothing yet; `make` makes a person who has proved nothing.
    init(_ make: @escaping @Sendable () -> Authentication) {
        self.make = make
        authentication = make()
    }

    /// The person, with what they have proved.
    var current: Authentication { lock.withLock { authentication } }

    /// Forgets it. A question that is open ends.
    func forget() {
        let forgotten = lock.withLock {
            defer { authentication = make() }
            return authentication
        }
        forgotten.forget()
    }
}
