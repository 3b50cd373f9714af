// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetSync

/// P5 of docs/SYNC.md §6: what a sponsor calls the devices of its circle.
@Suite struct `The names that a sponsor sends` {
    private let circle: TestCircle
    private let sponsor: TestDevice
    private let transcript = Digest(of: Span())

    init() throws {
        circle = try TestCircle()
        sponsor = try circle.device("a")
    }

    private func plaintext(
        _ names: [DeviceID: String], by letter: Character = "a"
    ) throws -> [UInt8] {
        let identity = try circle.device(letter).identity(.whileUnlocked)
        return InvitationNames(names, sponsor: sponsor.id).plaintext(
            after: transcript, signedBy: identity.signing)
    }

    private func error(_ bytes: [UInt8], after transcript: Digest? = nil) -> SyncError? {
        do throws(SyncError) {
            _ = try InvitationNames(
                parsing: bytes, after: transcript ?? self.transcript, signedBy: sponsor.member)
            return nil
        } catch {
            return error
        }
    }

    @Test func `are read as they were sent`() throws {
        let names = [sponsor.id: "Laptop", try circle.device("b").id: "Tëlefon 📱"]
        let read = try InvitationNames(
            parsing: plaintext(names), after: transcript, signedBy: sponsor.member)
        #expect(read.names == names)
    }

    @Test func `are the sponsor's own and those of as many others as there is room for`() throws {
        var names = [sponsor.id: String(repeating: "s", count: 64)]
        for number in 0..<60 as Range<UInt64> {
            names[DeviceID(high: number, low: 0)] = "device \(number)"
        }
        let sent = InvitationNames(names, sponsor: sponsor.id)
        #expect(sent.names[sponsor.id] == names[sponsor.id])
        #expect(sent.names.count > 10)
        #expect(try plaintext(names).count < 512)
        #expect(error(try plaintext(names)) == nil)
    }

    // Promise: 19.5
    @Test func `are not taken from anybody else, not even with the invitation`() throws {
        let forged = try plaintext([sponsor.id: "Laptop"], by: "b")
        #expect(error(forged) == SyncError(.tampered, .signature, in: .mail))
        var changed = try plaintext([sponsor.id: "Laptop"])
        changed[changed.count - 1] ^= 1
        #expect(error(changed) == SyncError(.tampered, .signature, in: .mail))
        // Nor those of another invitation.
        let other = UnkeyedHash.digest(.syncTranscript) { $0.append([1].span) }
        let bytes = try plaintext([sponsor.id: "Laptop"])
        #expect(error(bytes, after: other) == SyncError(.tampered, .signature, in: .mail))
    }
}
