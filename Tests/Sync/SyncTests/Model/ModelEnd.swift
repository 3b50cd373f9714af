// SPDX-License-Identifier: Apache-2.0

// The end of a schedule of the model: all devices read everything, until none has anything to say.
// Then the invariants are checked.

import ValetKeychainModel

@testable import ValetSync

extension Model {
    /// Lets all devices read everything, until nobody has anything to say.
    func end() {
        isEnding = true
        devices.removeAll(where: \.isRemoved)
        for index in devices.indices {
            devices[index].isLocked = false
            if !devices[index].isMember { rejoin(index) }
        }
        var quietRounds = 0
        for _ in 0..<24 where quietRounds < 3 && failures.isEmpty {
            let count = store.count
            for index in devices.indices { runAgent(index, isComplete: true) }
            clock += 4_000_000
            quietRounds = store.count == count ? quietRounds + 1 : 0
        }
        if quietRounds < 3 { fail("the circle does not become quiet") }
        guard failures.isEmpty else { return }
        for index in devices.indices { checkDevice(index) }
        if !hasLies { checkValues() }
    }

    private func checkDevice(_ index: Int) {
        let keychain = devices[index].keychain
        let first = devices[0].keychain
        if !keychain.lostInSilence.isEmpty { fail("device \(index) lost a value in silence") }
        if keychain.aside.keys.contains(where: { !keychain.replica.hasAside($0) }) {
            fail("device \(index) keeps a copy that was sent")
        }
        for scope in KeyScope.allCases {
            let replica = keychain.replica[scope]
            if Set(replica.live.keys) != Set(first.replica[scope].live.keys) {
                fail("devices 0 and \(index) have different records")
            }
            if !replica.pending.isEmpty || !replica.renewals.isEmpty {
                fail("device \(index) has not said everything")
            }
            if replica.cloud.dots.contains(where: {
                !replica.isAhead($0) || replica.live[$0] != nil
            }) {
                fail("the cloud of device \(index) has too much")
            }
            for (dot, _) in replica.live where keychain.kept[dot] == nil {
                fail("device \(index) has not kept a record that lives")
            }
        }
        for key in Self.keys where keychain.replica.staying[key] == nil {
            let isSame =
                first.replica.staying[key] != nil
                || keychain.rows[key]?.write == first.rows[key]?.write
            if !isSame { fail("devices 0 and \(index) show different values") }
            let live = keychain.kept.values.filter { $0.summary.key == key && $0.write != 0 }
            if keychain.rows[key] == nil, !live.isEmpty {
                fail("device \(index) shows nothing of an item that lives")
            }
            if let row = keychain.rows[key], !live.contains(where: { $0.write == row.write }) {
                fail("device \(index) shows what does not live")
            }
            checkIsGreatest(key, index)
        }
    }

    /// Of the records of its scope, a row shows the greatest; scope `u` comes first.
    private func checkIsGreatest(_ key: SyncItemID, _ index: Int) {
        let keychain = devices[index].keychain
        guard let row = keychain.rows[key], let scope = row.scope else { return }
        func greatest(_ scope: KeyScope) -> (key: Dot, value: RecordSummary)? {
            let replica = keychain.replica[scope]
            return replica.live.filter { $0.value.key == key }.max {
                ($0.value.time, $0.key) < ($1.value.time, $1.key)
            }
        }
        let own = greatest(scope)
        if let own, own.value.moved == nil, keychain.kept[own.key]?.write != row.write {
            fail("device \(index) does not show the greatest record")
        }
        if scope == .afterFirstUnlock, let other = greatest(.whileUnlocked),
            other.value.moved == nil
        {
            fail("device \(index) shows scope f before scope u")
        }
    }

    private func checkValues() {
        var live: Set<UInt64> = []
        for device in devices {
            live.formUnion(device.keychain.allWrites)
        }
        for (write, _) in writes where !live.contains(write) {
            if !covered.contains(write), !lateWrites.contains(write), !lost.contains(write) {
                fail("a value is lost")
            }
        }
        guard !hasCopies, !hasRemovals else { return }
        let kept = Set(devices.flatMap { $0.keychain.kept.values.map(\.write) })
        if kept.contains(where: { $0 != 0 && covered.contains($0) }) {
            fail("a value that was deleted or replaced lives")
        }
    }
}

extension ModelKeychain {
    /// All writes whose values are here, shown or not.
    var allWrites: Set<UInt64> {
        Set(rows.values.map(\.write)).union(aside.values.map(\.write))
            .union(kept.values.map(\.write))
    }
}
