// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetSecretMemory

/// The engines of this process, one for each keychain that a store of it uses.
///
/// SQLite's locks belong to a process and a file, so that two sets of connections to one file must
/// know of each other; and after a fork all that was inherited is closed before anything is opened.
final class EngineRegistry: Sendable {
    private struct Entry {
        weak var slot: EngineSlot?
    }

    private static let current = ProcessLocal<EngineRegistry> { inherited in
        EngineRegistry(inherited: inherited)
    }

    /// By the bytes of the folder's path: two texts that Swift calls equal may be two folders.
    private let slots = Mutex<[[UInt8]: Entry]>([:])
    /// Slots whose connections may be open: those in ``slots``, and those that are just going.
    private let openSlots = OpenSlots()
    private let isUsable: Bool

    private init(inherited: EngineRegistry?) {
        isUsable = inherited?.closeInherited() ?? true
    }

    /// The slot of the keychain in `folder`.
    static func slot(for folder: String) -> EngineSlot {
        current.value.slot(for: folder)
    }

    /// Ends the connections of every keychain; nothing else may be under way.
    static func closeAll() {
        let slots = current.value.slots.withLock { $0.values.compactMap(\.slot) }
        for slot in slots { slot.close() }
    }

    private func slot(for folder: String) -> EngineSlot {
        let folder = Array(folder.utf8)
        return slots.withLock { slots in
            if let slot = slots[folder]?.slot { return slot }
            let slot = EngineSlot(isUsable: isUsable, countedIn: openSlots)
            slots = slots.filter { $0.value.slot != nil }
            slots[folder] = Entry(slot: slot)
            return slot
        }
    }

    private func closeInherited() -> Bool {
        guard isUsable, let inherited = slots.withLockIfAvailable({ $0 }) else { return false }
        let reachable = inherited.values.compactMap(\.slot)
        // One that was going can be reached no more, and may have been in the middle of closing.
        guard reachable.count == openSlots.count.load(ordering: .sequentiallyConsistent) else {
            return false
        }
        return reachable.allSatisfy { $0.closeInherited() }
    }
}

/// How many slots there are, counted from before they open anything until all is closed.
final class OpenSlots: Sendable {
    let count = Atomic<Int>(0)
}
