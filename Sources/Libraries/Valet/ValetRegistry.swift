// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// The living valets of this process, so that one configuration has one object. The class methods
/// of valets ask it.
// Sendable because the lock is held wherever the entries are touched.
final class ValetRegistry: @unchecked Sendable {
    private struct Entry {
        weak var valet: AnyObject?
    }

    private let lock = NSLock()
    private var entries: [Configuration: Entry] = [:]
    private var countThatIsSweptAt = 64

    /// A registry with the valets of `inherited`, unless a thread held its lock during a fork.
    ///
    /// In a child of `fork` that thread does not exist, and never releases the lock.
    init(inherited: ValetRegistry? = nil) {
        guard let inherited, inherited.lock.try() else { return }
        entries = inherited.entries
        inherited.lock.unlock()
    }

    /// The living valet of that configuration, or a new one from `make`. Each kind of configuration
    /// has a class of its own.
    func valet<Object: AnyObject>(_ configuration: Configuration, make: () -> Object) -> Object {
        lock.withLock {
            if let valet = entries[configuration]?.valet as? Object { return valet }
            sweep()
            let valet = make()
            entries[configuration] = Entry(valet: valet)
            return valet
        }
    }

    /// How many configurations are registered, including those of valets that no longer exist.
    var count: Int { lock.withLock { entries.count } }

    /// Forgets valets that no longer exist, so seldom that the cost per valet stays constant.
    private func sweep() {
        guard entries.count >= countThatIsSweptAt else { return }
        entries = entries.filter { $0.value.valet != nil }
        countThatIsSweptAt = max(64, 2 * entries.count)
    }
}
