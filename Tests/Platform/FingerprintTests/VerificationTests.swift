// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem

@testable import ValetUserPresence

/// What a verification led to, and what the person was told meanwhile.
struct Verification: Equatable {
    var code: SystemError.Code?
    var events: [FingerprintEvent] = []

    /// Runs one; `react` is the person, who sees each event.
    init(
        with reader: FingerprintReader, cancellation: Cancellation? = nil,
        timeout: Duration = .seconds(20), react: (FingerprintEvent, Int) -> Void = { _, _ in }
    ) {
        var seen: [FingerprintEvent] = []
        do throws(SystemError) {
            _ = try reader.verify(until: Deadline(after: timeout), cancellation: cancellation) {
                seen.append($0)
                react($0, seen.count { $0 == Self.waiting })
            }
        } catch {
            code = error.code
        }
        events = seen
    }

    init(_ code: SystemError.Code?, _ events: [FingerprintEvent]) {
        self.code = code
        self.events = events
    }

    static let waiting = FingerprintEvent.waiting(
        reader: "Virtual device for debugging", gesture: .swipe)
}

@Suite(.serialized, .needsReader) struct `A finger` {
    private static let right = "SCAN \(ReaderFixture.enrolled)"
    private static let wrong = "SCAN finger-B"
    private static let waiting = Verification.waiting

    /// Does at each try what the person does, the last again and again.
    private func run(_ fixture: ReaderFixture, _ actions: String...) -> Verification {
        Verification(with: fixture.reader) { event, count in
            guard event == Self.waiting else { return }
            fixture.act(actions[min(count, actions.count) - 1])
        }
    }

    /// Whether the reader can be used again: at once, or when fprintd, on a busy machine, has
    /// seen that who claimed it is gone.
    private func isFree(_ fixture: ReaderFixture) -> Bool {
        let end = Deadline(after: .seconds(20))
        while true {
            let verification = run(fixture, Self.right)
            guard verification.code == .claimed, end.sleep(atMost: 25_000_000) else {
                return verification == Verification(nil, [Self.waiting])
            }
        }
    }

    @Test func `An enrolled finger is recognised`() throws {
        let fixture = try ReaderFixture()
        #expect(run(fixture, Self.right) == Verification(nil, [Self.waiting]))
        #expect(isFree(fixture))
    }

    @Test func `An unknown finger may be followed by an enrolled one`() throws {
        let fixture = try ReaderFixture()
        #expect(
            run(fixture, Self.wrong, Self.wrong, Self.right)
                == Verification(
                    nil,
                    [
                        Self.waiting, .noMatch(triesLeft: 2), Self.waiting, .noMatch(triesLeft: 1),
                        Self.waiting,
                    ]))
    }

    // Promise: 6.2
    @Test func `Three tries with an unknown finger end the verification`() throws {
        let fixture = try ReaderFixture()
        #expect(
            run(fixture, Self.wrong)
                == Verification(
                    .noMatch,
                    [
                        Self.waiting, .noMatch(triesLeft: 2), Self.waiting, .noMatch(triesLeft: 1),
                        Self.waiting,
                    ]))
        #expect(isFree(fixture))
    }

    @Test(
        arguments: [
            (0, .unclear), (1, .tooShort), (2, .notCentered), (3, .removeFinger),
        ] as [(Int, FingerprintEvent.RetryReason)])
    func `A scan that failed is repeated and gives its reason`(
        _ number: Int, _ reason: FingerprintEvent.RetryReason
    ) throws {
        let fixture = try ReaderFixture()
        let verification = Verification(with: fixture.reader) { event, _ in
            fixture.act(event == Self.waiting ? "RETRY \(number)" : Self.right)
        }
        #expect(verification == Verification(nil, [Self.waiting, .retry(reason)]))
    }

    @Test func `An unplugged reader ends the verification`() throws {
        let fixture = try ReaderFixture()
        #expect(run(fixture, "UNPLUG") == Verification(.unplugged, [Self.waiting]))
        #expect(Verification(with: fixture.reader) == Verification(.noReader, []))
    }

    @Test func `A reader that fails ends the verification`() throws {
        let fixture = try ReaderFixture()
        #expect(run(fixture, "ERROR 0") == Verification(.readerFailed, [Self.waiting]))
        #expect(isFree(fixture))
    }

    // Promise: 18.7
    @Test func `A verification has a time limit`() throws {
        let fixture = try ReaderFixture()
        let verification = Verification(with: fixture.reader, timeout: .seconds(1))
        #expect(verification.code == .timedOut)
        #expect(isFree(fixture))
    }

    // Promise: 18.7
    @Test func `A cancelled verification ends`() throws {
        let fixture = try ReaderFixture()
        let cancellation = Cancellation()
        let verification = Verification(with: fixture.reader, cancellation: cancellation) { _, _ in
            Thread { cancellation.cancel() }.start()
        }
        #expect(verification == Verification(.cancelled, [Self.waiting]))
        #expect(
            Verification(with: fixture.reader, cancellation: cancellation)
                == Verification(.cancelled, []))
        #expect(isFree(fixture))
    }

    @Test func `A reader does one verification at a time`() throws {
        let fixture = try ReaderFixture()
        var second: Verification?
        let first = Verification(with: fixture.reader) { _, _ in
            second = Verification(with: fixture.reader)
            fixture.act(Self.right)
        }
        #expect(second == Verification(.claimed, []))
        #expect(first == Verification(nil, [Self.waiting]))
    }

    // Promise: 6.1
    @Test func `A verification ends when fprintd is killed`() throws {
        let fixture = try ReaderFixture()
        var successor: Child?
        let verification = Verification(with: fixture.reader) { _, _ in
            fixture.service.end()
            // Who has the name now was not asked.
            successor = try? ReaderFixture.start(on: fixture.bus)
        }
        #expect(verification == Verification(.serviceEnded, [Self.waiting]))
        try fixture.bus.waitForOwner(of: "net.reactivated.Fprint")
        #expect(isFree(fixture))
        successor?.end()
    }

    // Promise: 18.7
    @Test func `A verification ends when the bus ends`() throws {
        let fixture = try ReaderFixture()
        let verification = Verification(with: fixture.reader) { _, _ in fixture.bus.end() }
        #expect(verification == Verification(.serviceEnded, [Self.waiting]))
    }

    // Promise: 18.7
    @Test func `A stopped fprintd is waited for until the deadline`() throws {
        let fixture = try ReaderFixture()
        let verification = Verification(with: fixture.reader, timeout: .seconds(1)) { _, _ in
            fixture.service.signal(SIGSTOP)
        }
        #expect(verification.code == .timedOut)
        fixture.service.signal(SIGCONT)
        // The connection has ended, and so has the claim.
        #expect(Wait.until(seconds: 5) { isFree(fixture) })
    }

    // Promise: 6.1
    @Test func `Only fprintd's answer counts for a finger`() throws {
        let fixture = try ReaderFixture()
        var claimCount = 0
        let verification = Verification(with: fixture.reader) { event, count in
            guard event == Self.waiting else { return }
            if count == 1 { claimCount = Forger.claim(aMatchOn: fixture.bus) }
            fixture.act(count == 1 ? Self.wrong : Self.right)
        }
        // What was forged came first, and the wrong finger was waited for all the same.
        #expect(
            verification
                == Verification(nil, [Self.waiting, .noMatch(triesLeft: 2), Self.waiting]))
        #expect(claimCount > 3)
    }
}

/// Another program on the bus, which says that a finger was recognised.
enum Forger {
    /// Tells everybody and each connection. Returns how many times it could.
    static func claim(aMatchOn bus: PrivateBus) -> Int {
        let rest = [
            "/net/reactivated/Fprint/Device/0", "net.reactivated.Fprint.Device.VerifyStatus",
            "string:verify-match", "boolean:true",
        ]
        let destinations = [[]] + (0..<16).map { ["--dest=:1.\($0)"] }
        return destinations.count { destination in
            let child = try? Child(
                "/usr/bin/dbus-send",
                ["--bus=unix:path=\(bus.path)", "--type=signal"] + destination + rest)
            return child?.exitCode() == 0
        }
    }
}
