// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// The valets that are alive, so that one configuration has one object.
// Sendable because the lock is held wherever the entries are touched.
final class ValetRegistry: @unchecked Sendable {
    private struct Entry {
        weak var valet: AnyObject?
    }

    private let lock = NSLock()
    private var entries: [Configuration: Entry] = [:]
    private var countThatIsSweptAt = 64

    /// A registry that knows the valets of `inherited`, if no thread was in the middle of it.
    ///
    /// For a child of `fork`, in which that thread does not exist and the lock is never released.
    init(inherited: ValetRegistry? = nil) {
        guard let inherited, inherited.lock.try() else { return }
        entries = inherited.entries
        inherited.lock.unlock()
    }

    /// The living valet of that configuration, or a new one.
    func valet(_ configuration: Configuration) -> Valet {
        valet(configuration) { Valet(configuration, backend: Platform.backend) }
    }

    /// The living valet of that configuration, or the one that `make` makes: each kind of
    /// configuration has a class of its own.
    func valet<Object: AnyObject>(_ configuration: Configuration, make: () -> Object) -> Object {
        lock.withLock {
            if let valet = entries[configuration]?.valet as? Object { return valet }
            sweep()
            let valet = make()
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
