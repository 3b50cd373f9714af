// SPDX-License-Identifier: Apache-2.0

/// Where memory comes from. Nobody holds one: it comes from where Swift's does.
public final class CFAllocator: Sendable {
    private init() {}
}

/// The usual allocator, which calls on Apple's systems are given first.
public let kCFAllocatorDefault: CFAllocator? = nil
