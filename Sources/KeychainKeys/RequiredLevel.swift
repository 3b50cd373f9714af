// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeybag
package import ValetKeychainModel

/// The least protection that this process accepts of a keychain whose items it reads or writes.
package enum RequiredLevel {
    /// The rank of a level, 0 for none. A child of `fork` inherits it.
    private static let rank = Atomic<Int>(0)

    /// Has every call for items refuse below `level` from now on. It can be raised, never lowered:
    /// no part of a program takes back what another relies on.
    package static func raise(to level: ProtectionLevel) {
        rank.max(level.rank, ordering: .sequentiallyConsistent)
    }

    /// - Throws: ``KeychainFailure/Code/insufficientProtection``.
    package static func check(_ facts: KeychainHeader, _ operation: String) throws(KeychainFailure)
    {
        // One load where nothing is required.
        guard isSet else { return }
        try check(facts.newest.level, operation, hint: "set a passcode with `valet passcode set`")
    }

    /// Whether the keychain has the level, as far as `facts` are still true.
    static func isMet(by facts: KeychainHeader) -> Bool {
        !isSet || facts.newest.level.rank >= rank.load(ordering: .sequentiallyConsistent)
    }

    /// Whether this process requires any level.
    package static var isSet: Bool { rank.load(ordering: .relaxed) > 0 }

    /// Refuses a level below the required one.
    package static func check(
        _ level: ProtectionLevel, _ operation: String, hint: String
    ) throws(KeychainFailure) {
        let required = rank.load(ordering: .sequentiallyConsistent)
        guard level.rank < required else { return }
        let name = ProtectionLevel.allCases.first { $0.rank == required }
        throw KeychainFailure(
            .insufficientProtection, during: operation,
            message: "the keychain's protection level is \(level.rawValue), "
                + "and this program requires \(name?.rawValue ?? "more")",
            hint: hint)
    }
}
