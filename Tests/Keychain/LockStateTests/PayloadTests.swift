// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeyTestSupport
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetKeys

private func copy(_ bytes: Span<UInt8>) -> [UInt8] { bytes.indices.map { bytes[$0] } }

extension KeyPayload {
    /// The bytes, out of guarded memory: the keys of tests are no secrets.
    var bytes: [UInt8] { body().withBytes(copy) }

    static func error(parsing bytes: [UInt8]) -> KeychainFailure? {
        do throws(KeychainFailure) {
            _ = try KeyPayload(body: SecretBytes(copying: bytes.span))
            return nil
        } catch {
            return error
        }
    }

    static func error(
        opening bytes: [UInt8], under key: borrowing SharedPayloadKey
    ) -> KeychainFailure? {
        do throws(KeychainFailure) {
            _ = try KeyPayload.open(bytes.span, under: key)
            return nil
        } catch {
            return error
        }
    }
}

@Suite struct `A payload of keys` {
    let samples = SampleKeys(.random())

    private func payload(_ scope: KeyScope, _ epoch: UInt64 = 1) throws -> KeyPayload {
        let limits = UnlockLimits(end: BootTime(milliseconds: 1_000), idle: .milliseconds(700))
        return try KeyPayload(
            scope, of: samples.keychainID,
            from: samples.epoch(epoch, withPerson: true, withSync: true),
            period: UnlockPeriod(limits, from: BootTime(milliseconds: 200)))
    }

    @Test(arguments: KeyScope.allCases, [1, 7, .max] as [UInt64])
    func `A payload of keys gives back what was encoded`(_ scope: KeyScope, _ epoch: UInt64)
        throws
    {
        let payload = try payload(scope, epoch)
        let parsed = try KeyPayload(body: payload.body())
        #expect(parsed.bytes == payload.bytes)
        #expect(parsed.scope == scope)
        #expect(parsed.keychainID == samples.keychainID)
        #expect(parsed.mark == samples.mark(epoch))
        #expect(parsed.period == payload.period)
        #expect(
            parsed.period.numbers == (scope == .whileUnlocked ? [900, 700, 1_000] : [0, 0, 0]))
    }

    // Promise: 7.13
    @Test func `A payload of keys puts together the keys that it took apart`() throws {
        let first = try KeyPayload(body: payload(.afterFirstUnlock, 4).body())
        let unlocked = try KeyPayload(body: payload(.whileUnlocked, 4).body())
        let keys = try OpenedKeys(firstUnlock: first, unlocked: unlocked)
        #expect(try samples.text(.unlocked(keys)) == "unlocked 4[ak ck dk aku cku dku akpu]")
        #expect(try samples.hasPerson(keys, of: 4))
        #expect(try samples.syncScopes(keys, of: 4) == KeyScope.allCases)
        let fewer = try OpenedKeys(firstUnlock: first, unlocked: nil)
        #expect(
            try samples.text(.locked(fewer, .notUnlocked))
                == "locked 4[ck dk cku dku] notUnlocked")
        #expect(try !samples.hasPerson(fewer, of: 4))
        #expect(try samples.syncScopes(fewer, of: 4) == [.afterFirstUnlock])
    }

    @Test func `A payload of keys does not go together with one of another epoch`() throws {
        let (first, unlocked) = (try payload(.afterFirstUnlock, 4), try payload(.whileUnlocked, 5))
        let error = #expect(throws: KeychainFailure.self) {
            try OpenedKeys(firstUnlock: first, unlocked: unlocked)
        }
        #expect(error?.code == .wrongKeys)
    }

    @Test func `A payload of keys differs from one without the sync secret`() throws {
        let with = try samples.epoch(1, withSync: true)
        let without = try samples.epoch(1)
        for scope in KeyScope.allCases {
            let payloads = try [with, without].map {
                try KeyPayload(scope, of: samples.keychainID, from: $0, period: .unlimited)
            }
            #expect(payloads[0].holdsSameKeys(as: payloads[0]))
            #expect(!payloads[0].holdsSameKeys(as: payloads[1]))
            #expect(!payloads[1].holdsSameKeys(as: payloads[0]))
        }
    }

    @Test func `A payload of keys may lack the class that recovery does not open`() throws {
        let keys = try samples.epoch(1, withPasscodeClass: false)
        let payload = try KeyPayload(
            .whileUnlocked, of: samples.keychainID, from: keys, period: .unlimited)
        let parsed = try KeyPayload(body: payload.body())
        #expect(
            parsed.keys.classes.map(\.protectionClass) == [
                .whenUnlocked, .whenUnlockedThisDeviceOnly,
            ])
    }

    @Test(arguments: KeyScope.allCases)
    func `A payload of keys is under a kibibyte`(_ scope: KeyScope) throws {
        #expect(try payload(scope).bytes.count <= KeyPayload.maximumByteCount)
    }

    @Test(arguments: KeyScope.allCases)
    func `A payload of keys is sealed anew each time, and opens under its key alone`(
        _ scope: KeyScope
    ) throws {
        let payload = try payload(scope)
        let key = SharedPayloadKey.random()
        let sealed = payload.sealed(under: key)
        #expect(sealed.count <= KeyPayload.maximumByteCount)
        #expect(sealed != payload.sealed(under: key))
        #expect(try KeyPayload.open(sealed.span, under: key).bytes == payload.bytes)
        #expect(
            KeyPayload.error(opening: sealed, under: SharedPayloadKey.random())?.code
                == .changedByOthers)
    }

    @Test(arguments: KeyScope.allCases)
    func `A payload of keys does not open with any bit flipped`(_ scope: KeyScope) throws {
        let key = SharedPayloadKey.random()
        let bytes = try payload(scope).sealed(under: key)
        for offset in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[offset] ^= 1 << bit
                // Another version is refused before the seal, which may be another one.
                let expected: KeychainFailure.Code =
                    8...9 ~= offset ? .payloadNewer : .changedByOthers
                let code = KeyPayload.error(opening: changed, under: key)?.code
                #expect(code == expected, "\(offset) \(bit)")
            }
        }
    }

    @Test(arguments: KeyScope.allCases)
    func `A payload of keys does not open when cut or longer`(_ scope: KeyScope) throws {
        let key = SharedPayloadKey.random()
        let bytes = try payload(scope).sealed(under: key)
        for length in bytes.indices {
            let error = KeyPayload.error(opening: Array(bytes.prefix(length)), under: key)
            #expect(error?.code == .changedByOthers, "\(length)")
        }
        for count in [1, 41, 1024] {
            let longer = bytes + [UInt8](repeating: 0, count: count)
            #expect(KeyPayload.error(opening: longer, under: key)?.code == .changedByOthers)
        }
    }

    /// Changed by somebody who could seal it.
    @Test(arguments: KeyScope.allCases)
    func `A payload of keys survives any change, and takes only what it would write`(
        _ scope: KeyScope
    ) throws {
        let bytes = try payload(scope).bytes
        var random = SplitMix(seed: 20_261_121)
        for _ in 0..<20_000 {
            let changed = random.mutation(of: bytes)
            guard let parsed = try? KeyPayload(body: SecretBytes(copying: changed.span)) else {
                continue
            }
            #expect(parsed.bytes == changed)
        }
    }

    @Test func `A payload of keys survives random bytes`() {
        var random = SplitMix(seed: 3)
        for _ in 0..<5_000 {
            let count = Int.random(in: 0...1_100, using: &random)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(KeyPayload.error(parsing: bytes) != nil)
        }
    }

    @Test func `A payload of keys is not made of an epoch 0`() {
        let error = #expect(throws: KeychainFailure.self) { try payload(.whileUnlocked, 0) }
        #expect(error?.code == .wrongKeys)
        #expect(error?.operation == LockStateOperation.encode.rawValue)
    }

    @Test func `A payload of keys is not made of the keys of another keychain`() throws {
        let keys = try SampleKeys(.random()).epoch(1)
        let error = #expect(throws: KeychainFailure.self) {
            try KeyPayload(
                .afterFirstUnlock, of: samples.keychainID, from: keys, period: .unlimited)
        }
        #expect(error?.code == .wrongKeys)
    }

    @Test func `A payload of keys is not made of what was open while locked`() throws {
        let first = try payload(.afterFirstUnlock)
        let locked = try OpenedKeys(firstUnlock: first, unlocked: nil)
        let error = #expect(throws: KeychainFailure.self) {
            try KeyPayload(.whileUnlocked, of: samples.keychainID, from: locked, period: .unlimited)
        }
        #expect(error?.code == .wrongKeys)
    }
}

extension Vector {
    /// What the sharing keys of the vector are bound to.
    fileprivate func binding() throws -> SharingBinding {
        SharingBinding(
            keychainID: try KeychainID(bytes("keychain")), bootID: try BootID(bytes("boot")),
            user: try number("user"))
    }
}

@Suite struct `The vectors of shared keys` {
    // Promise: 7.4
    @Test(arguments: try Vector.all("lock-state", "payload"))
    func `The vectors of shared keys of payloads do what they say`(_ vector: Vector) throws {
        switch (vector.outcome, try open(vector)) {
        case (.success, .success(let payload)):
            try expectSuccess(vector, payload)
            #expect(try seal(vector) == vector.bytes("payload"))
        case (.malformed, .failure(.payloadDamaged)), (.tampered, .failure(.changedByOthers)),
            (.unsupported, .failure(.payloadNewer)):
            break
        case (_, let result): Issue.record("\(result)")
        }
    }

    private enum Opened {
        case success(KeyPayload)
        case failure(KeychainFailure.Code)
    }

    private func open(_ vector: Vector) throws -> Opened {
        let bytes = try vector.bytes("payload")
        let key = try payloadKey(vector)
        do throws(KeychainFailure) {
            return .success(try KeyPayload.open(bytes.span, under: key))
        } catch {
            return .failure(error.code)
        }
    }

    private func seal(_ vector: Vector) throws -> [UInt8] {
        let (body, head) = (try vector.bytes("body"), KeyPayload.head)
        let nonce = try Nonce(vector.bytes("nonce"))
        let key = try payloadKey(vector)
        return head + AEAD.seal(body.span, associatedData: head.span, under: key, nonce: nonce)
    }

    private func payloadKey(_ vector: Vector) throws -> SharedPayloadKey {
        let scope = try #require(KeyScope(rawValue: vector.text("scope").utf8.first ?? 0))
        let (binding, mark) = (try vector.binding(), try LockMark(vector.bytes("mark")))
        let bytes = try vector.bytes("sharing_key")
        let sharingKey = try SharingKey(copying: bytes.span)
        return binding.payloadKey(sharingKey, scope, mark)
    }

    @Test(arguments: try Vector.all("lock-state", "sharing-file"))
    func `The vectors of shared keys of sharing files do what they say`(_ vector: Vector) throws {
        let (binding, bytes) = (try vector.binding(), try vector.bytes("file"))
        let contents = SharingContents(parsing: bytes.span, of: binding)
        guard vector.outcome != .malformed else {
            #expect(contents == nil)
            return
        }
        let file = try #require(contents)
        #expect(file.encoded(for: binding).withBytes(copy) == bytes)
        var wrong = 0
        for (scope, name) in [(KeyScope.afterFirstUnlock, "f"), (.whileUnlocked, "u")] {
            let serial: Int32? =
                vector.has("serial_" + name) ? try vector.number("serial_" + name) : nil
            #expect(file[scope]?.serial.rawValue == serial)
            guard let entry = file[scope] else { continue }
            let mark = try LockMark(vector.bytes("mark_" + name))
            if binding.sharingID(entry.key, scope, mark) != entry.id { wrong += 1 }
        }
        #expect(wrong == (vector.outcome == .wrongSecret ? 1 : 0))
    }

    @Test(arguments: try Vector.all("lock-state", "page"))
    func `The vectors of shared keys of pages do what they say`(_ vector: Vector) throws {
        let bytes = try vector.bytes("head")
        let found = LockPage.marks(in: bytes.span)
        guard vector.outcome == .success else {
            #expect(found == nil)
            return
        }
        let marks = try #require(found)
        #expect(marks.firstUnlock.bytes == (try vector.bytes("mark_f")))
        #expect(marks.unlocked.bytes == (try vector.bytes("mark_u")))
        #expect(LockPage.head(marks) == bytes)
    }

    private func expectSuccess(_ vector: Vector, _ payload: KeyPayload) throws {
        #expect(payload.bytes == (try vector.bytes("body")))
        #expect(payload.keychainID.bytes == (try vector.bytes("keychain")))
        #expect(try payload.scope.rawValue == vector.text("scope").utf8.first)
        #expect(
            try payload.period.numbers
                == ["deadline", "idle", "end"].map { try vector.number($0) })
        #expect(try payload.mark.epoch.rawValue == vector.number("epoch"))
        #expect(try payload.mark.digest.bytes == vector.bytes("digest"))
        #expect(try bytes(of: payload.keys.index) == vector.list("index"))
        #expect(try bytes(of: payload.keys.person) == vector.list("person"))
        #expect(try bytes(of: payload.keys.sync) == vector.list("sync"))
        let classes = payload.keys.classes
        let numbers = vector.texts("class").map { UInt8($0) }
        #expect(classes.map(\.protectionClass.rawValue) == numbers)
        #expect(classes.map { $0.keyID.bytes } == (try vector.list("key_id")))
        let attributes = classes.map { $0.attributes.withBytes(copy) }
        #expect(attributes == (try vector.list("attributes_subkey")))
        let values = classes.map { $0.value.withBytes(copy) }
        #expect(values == (try vector.list("value_subkey")))
    }

    /// The bytes of a key, as a vector lists them: none without a key.
    private func bytes<P>(of key: borrowing SymmetricKey<P>?) -> [[UInt8]] {
        switch key {
        case .some(let key): [key.withBytes(copy)]
        case .none: []
        }
    }
}
