// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// The valets that are alive, so that one configuration has one object.
// Sendable because the lock is held wherever the entries are touched.
final class ValetRegistry: @unchecked Sendable {
    static let shared = ValetRegistry()

    private struct Entry {
        weak var valet: Valet?
    }

    private let lock = NSLock()
    private var entries: [Configuration: Entry] = [:]
    private var countThatIsSweptAt = 64

    /// The living valet of that configuration, or a new one.
    func valet(_ configuration: Configuration) -> Valet {
        lock.withLock {
            if let valet = entries[configuration]?.valet { return valet }
            sweep()
            let valet = Valet(configuration, backend: Platform.backend)
            entries[configuration] = Entry(valet: valet)
            return valet
        }
    }

    /// How many configurations are known, those of valets that are gone included.
    var count: Int { lock.withLock { entries.count } }

    /// Forgets the dead, seldom enough for the cost per valet to stay constant.
    private func sweep() {
        guard entries.count >= countThatIsSweptAt else { return }
        entries = entries.filter { $0.value.valet != nil }
        countThatIsSweptAt = max(64, 2 * entries.count)
    }
}
