// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
package import ValetKeychainModel
internal import ValetKeys

/// The lowest protection level at which this process reads or writes items. Applications raise it
/// by `ValetKeychain.requireProtectionLevel`; every transaction on items checks it.
package enum RequiredLevel {
    /// The rank of a level, 0 for none. A child of `fork` inherits it.
    private static let rank = Atomic<Int>(0)

    /// Makes every call on items fail below `level` from now on. The level can be raised, never
    /// lowered: one part of a program must not weaken what another part relies on.
    package static func raise(to level: ProtectionLevel) {
        rank.max(level.rank, ordering: .sequentiallyConsistent)
    }

    /// - Throws: ``KeychainFailure/Code/insufficientProtection``.
    package static func check(_ header: KeychainHeader, _ operation: String) throws(KeychainFailure)
    {
        // Fast path: one atomic load if no level is required.
        guard isSet else { return }
        try check(header.keybag.level, operation, hint: "set a passcode with `valet passcode set`")
    }

    /// Whether the keychain has the required level, according to `header`.
    static func isMet(by header: KeychainHeader) -> Bool {
        !isSet || header.keybag.level.rank >= rank.load(ordering: .sequentiallyConsistent)
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
