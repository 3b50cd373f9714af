// SPDX-License-Identifier: Apache-2.0

import Keybag
import KeychainModel
import LockStateSupport
import Sealing
import SecretMemory
import TestValues
import Testing

@testable import LockState

private func copy(_ bytes: Span<UInt8>) -> [UInt8] { bytes.indices.map { bytes[$0] } }

extension KeyPayload {
    /// The bytes, out of guarded memory: the keys of tests are no secrets.
    var bytes: [UInt8] { encoded().withBytes(copy) }

    static func error(parsing bytes: [UInt8]) -> LockStateError? {
        do throws(LockStateError) {
            _ = try KeyPayload(parsing: bytes.span)
            return nil
        } catch {
            return error
        }
    }
}

@Suite struct `A payload of keys` {
    let samples = SampleKeys(.random())

    private func payload(
        _ scope: KeyScope, _ epochs: [UInt64] = [1]
    ) throws -> KeyPayload {
        let limits = UnlockLimits(end: BootTime(milliseconds: 1_000), idle: .milliseconds(700))
        return try KeyPayload(
            scope, of: samples.keychainID,
            from: epochs.map { try samples.epoch($0, withPerson: true) },
            period: UnlockPeriod(limits, from: BootTime(milliseconds: 200)))
    }

    @Test(arguments: KeyScope.allCases, [[1], [7, 8], [1, .max]] as [[UInt64]])
    func `gives back what was encoded`(_ scope: KeyScope, _ epochs: [UInt64]) throws {
        let payload = try payload(scope, epochs)
        let parsed = try KeyPayload(parsing: payload.bytes.span)
        #expect(parsed.bytes == payload.bytes)
        #expect(parsed.scope == scope)
        #expect(parsed.keychainID == samples.keychainID)
        #expect(parsed.epochs.map(\.mark) == samples.marks(epochs))
        #expect(parsed.period == payload.period)
        #expect(
            parsed.period.numbers == (scope == .whileUnlocked ? [900, 700, 1_000] : [0, 0, 0]))
    }

    @Test func `puts together the keys that it took apart`() throws {
        let first = try KeyPayload(parsing: payload(.afterFirstUnlock, [4, 5]).bytes.span)
        let unlocked = try KeyPayload(parsing: payload(.whileUnlocked, [4, 5]).bytes.span)
        let keys = try OpenedKeys(firstUnlock: first, unlocked: unlocked)
        let all = "[ak ck dk aku cku dku akpu]"
        #expect(try samples.text(.unlocked(keys)) == "unlocked 4\(all) 5\(all)")
        for (number, epoch) in zip([4, 5] as [UInt64], keys.epochs) {
            #expect(try samples.hasPerson(epoch, of: number))
        }
        let fewer = try OpenedKeys(firstUnlock: first, unlocked: nil)
        #expect(
            try samples.text(.locked(fewer, .notUnlocked))
                == "locked 4[ck dk cku dku] 5[ck dk cku dku] notUnlocked")
        for (number, epoch) in zip([4, 5] as [UInt64], fewer.epochs) {
            #expect(try !samples.hasPerson(epoch, of: number))
        }
    }

    @Test func `may lack the class that recovery does not open`() throws {
        let keys = try samples.epoch(1, withPasscodeClass: false)
        let payload = try KeyPayload(
            .whileUnlocked, of: samples.keychainID, from: [keys], period: .unlimited)
        let parsed = try KeyPayload(parsing: payload.bytes.span)
        #expect(
            parsed.epochs[0].classes.map(\.protectionClass) == [
                .whenUnlocked, .whenUnlockedThisDeviceOnly,
            ])
    }

    @Test(arguments: KeyScope.allCases)
    func `is under a kibibyte`(_ scope: KeyScope) throws {
        #expect(try payload(scope, [1, 2]).bytes.count <= KeyPayload.maximumByteCount)
    }

    @Test(arguments: KeyScope.allCases)
    func `is refused with any bit flipped`(_ scope: KeyScope) throws {
        let bytes = try payload(scope, [1, 2]).bytes
        for offset in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[offset] ^= 1 << bit
                // Another version is refused before the checksum, which it may do without.
                let expected: LockStateError.Code = 8...9 ~= offset ? .newer : .malformed
                #expect(KeyPayload.error(parsing: changed)?.code == expected, "\(offset) \(bit)")
            }
        }
    }

    @Test(arguments: KeyScope.allCases)
    func `is refused when cut or longer`(_ scope: KeyScope) throws {
        let bytes = try payload(scope).bytes
        for length in bytes.indices {
            let error = KeyPayload.error(parsing: Array(bytes.prefix(length)))
            #expect(error?.code == .malformed, "\(length)")
        }
        for count in [1, 41, 1024] {
            let longer = bytes + [UInt8](repeating: 0, count: count)
            #expect(KeyPayload.error(parsing: longer)?.code == .malformed)
        }
    }

    /// Changed by someone who also sets the checksum right.
    @Test(arguments: KeyScope.allCases)
    func `survives any change, and takes only what it would write`(_ scope: KeyScope) throws {
        let bytes = try payload(scope, [1, 2]).bytes
        var random = SplitMix(seed: 20_261_121)
        for _ in 0..<20_000 {
            let body = random.mutation(of: Array(bytes.dropLast(32)))
            let changed = body + Digest(of: body.span).bytes
            guard let parsed = try? KeyPayload(parsing: changed.span) else { continue }
            #expect(parsed.bytes == changed)
        }
    }

    @Test func `survives random bytes`() {
        var random = SplitMix(seed: 3)
        for _ in 0..<5_000 {
            let count = Int.random(in: 0...1_100, using: &random)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(KeyPayload.error(parsing: bytes) != nil)
        }
    }

    @Test(arguments: [[], [2, 1], [1, 1], [1, 2, 3], [0]] as [[UInt64]])
    func `is not made of other epochs than one or two that rise`(_ epochs: [UInt64]) {
        let error = #expect(throws: LockStateError.self) {
            try payload(.whileUnlocked, epochs)
        }
        #expect(error?.code == .wrongKeys)
        #expect(error?.operation == .encode)
    }

    @Test func `is not made of the keys of another keychain`() throws {
        let keys = try SampleKeys(.random()).epochs([1])
        let error = #expect(throws: LockStateError.self) {
            try KeyPayload(
                .afterFirstUnlock, of: samples.keychainID, from: keys, period: .unlimited)
        }
        #expect(error?.code == .wrongKeys)
    }

    @Test func `is not made of what was open while locked`() throws {
        let first = try payload(.afterFirstUnlock)
        let locked = try OpenedKeys(firstUnlock: first, unlocked: nil).epochs
        let error = #expect(throws: LockStateError.self) {
            try KeyPayload(.whileUnlocked, of: samples.keychainID, from: locked, period: .unlimited)
        }
        #expect(error?.code == .wrongKeys)
    }
}

@Suite struct `The vectors of payloads` {
    @Test(arguments: try Vector.all("lock-state"))
    func `do what they say`(_ vector: Vector) throws {
        let bytes = try vector.bytes("payload")
        let code = KeyPayload.error(parsing: bytes)?.code
        switch vector.outcome {
        case .success: try expectSuccess(vector, bytes)
        case .malformed: #expect(code == .malformed)
        case .unsupported: #expect(code == .newer)
        default: Issue.record("there is no such outcome here")
        }
    }

    private func expectSuccess(_ vector: Vector, _ bytes: [UInt8]) throws {
        let payload = try KeyPayload(parsing: bytes.span)
        #expect(payload.bytes == bytes)
        #expect(payload.keychainID.bytes == (try vector.bytes("keychain")))
        #expect(try payload.scope.tag == vector.text("scope").utf8.first)
        #expect(
            try payload.period.numbers
                == ["deadline", "idle", "end"].map { try vector.number($0) })
        let epochs = vector.texts("epoch").map { UInt64($0) }
        #expect(payload.epochs.map(\.mark.epoch.rawValue) == epochs)
        #expect(payload.epochs.map { $0.mark.digest.bytes } == (try vector.list("digest")))
        let indexes = payload.epochs.compactMap { part -> [UInt8]? in
            switch part.index {
            case .some(let index): index.withBytes(copy)
            case .none: nil
            }
        }
        #expect(indexes == (try vector.list("index")))
        let persons = payload.epochs.compactMap { part -> [UInt8]? in
            switch part.person {
            case .some(let person): person.withBytes(copy)
            case .none: nil
            }
        }
        #expect(persons == (try vector.list("person")))
        let classes = payload.epochs.flatMap(\.classes)
        let numbers = vector.texts("class").map { UInt8($0) }
        #expect(classes.map(\.protectionClass.rawValue) == numbers)
        #expect(classes.map { $0.keyID.bytes } == (try vector.list("key_id")))
        let attributes = classes.map { $0.attributes.withBytes(copy) }
        #expect(attributes == (try vector.list("attributes_subkey")))
        let values = classes.map { $0.value.withBytes(copy) }
        #expect(values == (try vector.list("value_subkey")))
    }
}
