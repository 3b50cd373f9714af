// SPDX-License-Identifier: Apache-2.0

/// What memory comes from. No instance exists: calls take nil.
public final class CFAllocator: Sendable {
    private init() {}
}
