// SPDX-License-Identifier: Apache-2.0

internal import ValetCSodium

/// libsodium's initialisation: it chooses the implementations that fit the processor, once.
enum Libsodium {
    private static let isStarted = sodium_init() >= 0

    /// Initialises libsodium if that has not been done.
    static func start() {
        // Fails only when the system has no source of randomness: nothing can be kept secret then.
        precondition(isStarted, "libsodium could not be initialised")
    }
}
