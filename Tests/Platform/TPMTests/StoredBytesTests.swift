// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeyTestSupport
import ValetSealing
import ValetSystem
import ValetTestValues

@testable import ValetTPM

@Suite(.enabled(if: Swtpm.isThere, Swtpm.isMissing)) struct `Stored objects of a TPM` {
    private let tpm: Swtpm

    init() throws { tpm = try Swtpm() }

    private func open(_ bytes: [UInt8]) -> SystemError.Code? {
        failure { _ = try tpm.device.unseal(SealedObject(parsing: bytes)) }
    }

    // Promise: 11.3
    @Test(arguments: [[], [7]] as [[Int]])
    func `Stored objects of a TPM open with no byte changed`(_ pcrs: [Int]) throws {
        let object = try tpm.device.seal(1, boundTo: #require(PCRSelection(pcrs)))
        for index in object.bytes.indices {
            var bytes = object.bytes
            bytes[index] ^= 1 << UInt8(index % 8)
            let code = open(bytes)
            #expect(
                [.malformed, .damagedObject, .otherTPM, .pcrsUnavailable, .policyFailed].contains(
                    code),
                "byte \(index): \(String(describing: code))")
        }
        #expect(try RawTPM(tpm.socket).leftovers() == 0)
    }

    @Test func `Stored objects of a TPM open with no byte missing, and none more`() throws {
        let bytes = try tpm.device.seal(1).bytes
        for count in bytes.indices { #expect(open(Array(bytes[..<count])) == .malformed) }
        #expect(open(bytes + [0]) == .malformed)
    }

    @Test func `Stored objects of a TPM open in no other role`() throws {
        let (device, passcode) = (try tpm.device.seal(1), try tpm.device.seal(1, pin: 2))
        #expect(failure { _ = try tpm.device.unseal(passcode) } == .malformed)
        #expect(failure { _ = try tpm.device.unseal(device, pin: 2) } == .malformed)
        #expect(try tpm.device.status(until: .soon).dictionaryAttack.failedTries == 0)
    }

    // Promise: 11.3
    @Test func `Stored objects of a TPM open with no part of another object`() throws {
        let (one, other) = (try tpm.device.seal(1), try tpm.device.seal(2))
        let mixed = SealedObject(
            publicArea: one.publicArea, privateArea: other.privateArea,
            storageRootKeyName: one.storageRootKeyName, pcrs: one.pcrs)
        #expect(failure { _ = try tpm.device.unseal(mixed) } == .damagedObject)
    }

    @Test func `Stored objects of a TPM are read without a trap, whatever they are`() throws {
        let object = try tpm.device.seal(1)
        var random = SplitMix(seed: 7)
        for _ in 0..<200 {
            let bytes = random.mutation(of: object.bytes)
            let code = failure {
                let parsed = try SealedObject(parsing: bytes)
                #expect(parsed.bytes == bytes)
                #expect(try tpm.device.unseal(parsed) == SecretBytes.sample(1).array)
            }
            #expect(bytes == object.bytes || code != nil)
        }
        #expect(try RawTPM(tpm.socket).leftovers() == 0)
    }
}

@Suite struct `The form of stored objects` {
    private static let area: [UInt8] = [0, 0, 0, 5, 0, 3, 1, 2, 3]
    private static let name: [UInt8] = [0, 0, 0, 34, 0, 0x0b] + .init(repeating: 7, count: 32)

    @Test func `The form of stored objects has one encoding`() throws {
        for pcrs in [[0, 0, 0, 0], [0, 0, 0, 10, 0, 0, 0, 1, 0, 0x0b, 3, 0x80, 0, 0]] as [[UInt8]] {
            let bytes = Self.area + Self.area + Self.name + pcrs
            let object = try SealedObject(parsing: bytes)
            #expect(object.bytes == bytes)
            #expect(object.pcrs.numbers == (pcrs.count == 4 ? [] : [7]))
        }
    }

    @Test func `The form of stored objects refuses every other`() {
        let none: [UInt8] = [0, 0, 0, 0]
        let cases: [[UInt8]] = [
            [], Self.area, Self.area + Self.area + Self.name,
            Self.area + Self.area + Self.name + none + [0],
            // An area whose inner length says something else, or that is empty, or too long.
            [0, 0, 0, 5, 0, 2, 1, 2, 3] + Self.area + Self.name + none,
            [0, 0, 0, 2, 0, 0] + Self.area + Self.name + none,
            [0xff, 0xff, 0xff, 0xff] + Self.area + Self.name + none,
            [0, 0, 4, 3, 4, 1] + .init(repeating: 0, count: 1025) + Self.area + Self.name + none,
            // A name of another algorithm or length.
            Self.area + Self.area + [0, 0, 0, 34, 0, 0x0c] + .init(repeating: 7, count: 32) + none,
            Self.area + Self.area + [0, 0, 0, 2, 0, 0x0b] + none,
            // Registers of another bank, of none, in another form.
            Self.area + Self.area + Self.name + [0, 0, 0, 10, 0, 0, 0, 1, 0, 4, 3, 0x80, 0, 0],
            Self.area + Self.area + Self.name + [0, 0, 0, 10, 0, 0, 0, 1, 0, 0x0b, 3, 0, 0, 0],
            Self.area + Self.area + Self.name + [0, 0, 0, 4, 0, 0, 0, 0],
        ]
        for bytes in cases {
            #expect(failure { _ = try SealedObject(parsing: bytes) } == .malformed, "\(bytes)")
        }
    }
}
