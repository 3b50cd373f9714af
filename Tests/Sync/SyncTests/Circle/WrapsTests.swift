// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetSync

/// docs/SYNC.md §3.4.
@Suite struct `The keys of a circle` {
    /// The entry of `circle` that follows `parent`.
    private static func head(_ circle: CircleID, _ parent: SyncHash) -> RosterEntry.Head {
        RosterEntry.Head(
            circle: circle, number: 2, parent: parent, milliseconds: 0, signer: .zero)
    }

    private func key(
        _ wraps: Wraps, _ device: TestDevice, _ scope: KeyScope, _ entry: RosterEntry.Head
    ) throws -> Result<[UInt8], SyncError> {
        let identity = try device.identity(scope)
        do throws(SyncError) {
            let key = try wraps.key(for: device.id, identity, in: entry)
            return .success(key.array)
        } catch {
            return .failure(error)
        }
    }

    @Test(arguments: KeyScope.allCases)
    func `The keys of a circle open for the members that have a box`(_ scope: KeyScope) throws {
        let circle = try TestCircle()
        let place = Self.head(circle.id, circle.genesis.hash)
        let (b, c) = (try circle.device("b"), try circle.device("c"))
        let wraps = try TestCircle.wraps(epoch: 2, [b.member, c.member], place)
        let keys = try TestCircle.keys(2)
        let expected = scope == .afterFirstUnlock ? keys.f.array : keys.u.array
        #expect(try key(wraps, b, scope, place) == .success(expected))
        #expect(try key(wraps, c, scope, place) == .success(expected))
        let missing = try key(wraps, circle.device("d"), scope, place)
        #expect(missing == .failure(SyncError(.invalid, .members, in: .circleKey)))
    }

    @Test func `The keys of a circle do not open in another entry`() throws {
        let circle = try TestCircle()
        let place = Self.head(circle.id, circle.genesis.hash)
        let b = try circle.device("b")
        let wraps = try TestCircle.wraps(epoch: 2, [b.member], place)
        for other in [
            Self.head(.zero, circle.genesis.hash), Self.head(circle.id, .zero),
        ] {
            let moved = try key(wraps, b, .whileUnlocked, other)
            #expect(moved == .failure(SyncError(.invalid, .seal, in: .circleKey)))
        }
    }

    @Test func `The keys of a circle that its signer did not commit to are refused`() throws {
        let circle = try TestCircle()
        let place = Self.head(circle.id, circle.genesis.hash)
        let b = try circle.device("b")
        let wraps = try TestCircle.wraps(epoch: 2, [b.member], place)
        // The commitment of scope f follows the epoch.
        var bytes = wraps.bytes
        bytes[4] ^= 1
        let changed = try Self.parse(bytes)
        let refused = try key(changed, b, .afterFirstUnlock, place)
        #expect(refused == .failure(SyncError(.invalid, .commitment, in: .circleKey)))
        #expect(try key(changed, b, .whileUnlocked, place) == key(wraps, b, .whileUnlocked, place))
    }

    @Test func `The keys of a circle that are sealed with an unfit key are refused`() throws {
        let circle = try TestCircle()
        let place = Self.head(circle.id, circle.genesis.hash)
        let b = try circle.device("b")
        var bytes = try TestCircle.wraps(epoch: 2, [b.member], place).bytes
        bytes.replaceSubrange(68..<100, with: [UInt8](repeating: 0, count: 32))
        let refused = try key(Self.parse(bytes), b, .afterFirstUnlock, place)
        #expect(refused == .failure(SyncError(.invalid, .agreement, in: .circleKey)))
    }

    @Test func `The keys of a circle before the last ones open with those`() throws {
        let circle = try TestCircle()
        let former = try TestCircle.former(epoch: 2, circle.id)
        let keys = try TestCircle.keys(2)
        let old = try TestCircle.keys(1)
        let opened = try former.key(
            of: .whileUnlocked, under: keys.u, circle: circle.id, epoch: 2,
            commitments: old.commitments)
        #expect(opened.array == old.u.array)
        for (epoch, id) in [(3 as UInt32, circle.id), (2, .zero)] {
            let error = Self.error { () throws(SyncError) in
                _ = try former.key(
                    of: .whileUnlocked, under: keys.u, circle: id, epoch: epoch,
                    commitments: old.commitments)
            }
            #expect(error == SyncError(.invalid, .seal, in: .circleKey))
        }
        let error = Self.error { () throws(SyncError) in
            _ = try former.key(
                of: .whileUnlocked, under: keys.u, circle: circle.id, epoch: 2,
                commitments: keys.commitments)
        }
        #expect(error == SyncError(.invalid, .commitment, in: .circleKey))
    }

    @Test func `The keys of a circle are refused with boxes that do not rise`() throws {
        let circle = try TestCircle()
        let place = Self.head(circle.id, circle.genesis.hash)
        let bytes = try TestCircle.wraps(epoch: 2, [circle.device("b").member], place).bytes
        let box = Array(bytes.suffix(16 + 2 * 72))
        var twice = bytes + box
        twice[100] = 2
        #expect(
            Self.error { () throws(SyncError) in _ = try Self.parse(twice) }
                == SyncError(.malformed, .order, in: .rosterEntry))
        var many = bytes
        many[100] = 65
        #expect(
            Self.error { () throws(SyncError) in _ = try Self.parse(many) }
                == SyncError(.malformed, .limit, in: .rosterEntry))
    }

    private static func parse(_ bytes: [UInt8]) throws(SyncError) -> Wraps {
        var reader = ByteReader(bytes, malformed: SyncError(.malformed, .form, in: .rosterEntry))
        return try Wraps(from: &reader)
    }

    private static func error(_ body: () throws(SyncError) -> Void) -> SyncError? {
        do throws(SyncError) {
            try body()
            return nil
        } catch {
            return error
        }
    }
}
