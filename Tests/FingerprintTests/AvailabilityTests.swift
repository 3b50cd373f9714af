// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem
import ValetSystemBus
import ValetTestValues

@testable import ValetFingerprint

/// Why a finger could not be verified; `nil` if it could.
func failure(
    of reader: FingerprintReader, cancellation: Cancellation? = nil,
    timeout: Duration = .seconds(20)
) -> FingerprintError? {
    do throws(FingerprintError) {
        _ = try reader.enrolments(until: Deadline(after: timeout), cancellation: cancellation)
        return nil
    } catch {
        return error
    }
}

@Suite(.serialized) struct `A fingerprint reader` {
    private static let agent = URL(fileURLWithPath: CommandLine.arguments[0])
        .deletingLastPathComponent().appendingPathComponent("ValetTestAgent").path

    private let soon = Deadline(after: .seconds(20))

    @Test(.needsReader) func `is there when the user has a finger enrolled on it`() throws {
        let fixture = try ReaderFixture()
        let before = try fixture.reader.enrolments(until: soon)
        let meanwhile = try fixture.reader.verify(until: soon) { _ in
            fixture.act("SCAN \(ReaderFixture.enrolled)")
        }
        #expect(before == [meanwhile])
        #expect(
            meanwhile
                == EnrolmentState(
                    reader: "Virtual device for debugging", fingers: ["right-index-finger"]))
    }

    @Test(.needsReader) func `is of no use to who has no finger enrolled`() throws {
        let fixture = try ReaderFixture(.none)
        #expect(failure(of: fixture.reader)?.code == .nobodyEnrolled)
        #expect(Verification(with: fixture.reader) == Verification(.nobodyEnrolled, []))
        #expect(failure(of: fixture.reader)?.hint?.contains("fprintd-enroll") == true)
    }

    @Test(.needsReader) func `is missed where there is none`() throws {
        let fixture = try ReaderFixture(hasReader: false)
        #expect(failure(of: fixture.reader)?.code == .noReader)
        #expect(Verification(with: fixture.reader) == Verification(.noReader, []))
    }

    @Test(.needsReader) func `is not for sessions that polkit refuses`() throws {
        let fixture = try ReaderFixture(hasAuthority: false)
        #expect(Verification(with: fixture.reader) == Verification(.notPermitted, []))
        #expect(failure(of: fixture.reader)?.hint?.contains("polkit") == true)
    }

    @Test(.needsReader) func `asks nobody in a process with more rights than its caller`() throws {
        let fixture = try ReaderFixture()
        let reader = fixture.reader(Environment([:], isElevated: true))
        #expect(failure(of: reader)?.code == .elevated)
        #expect(Verification(with: reader) == Verification(.elevated, []))
    }

    @Test(.needsReader) func `asks nobody where questions are turned off`() throws {
        let fixture = try ReaderFixture()
        let reader = fixture.reader(Environment(["VALET_INTERACTION": "never"]))
        #expect(Verification(with: reader) == Verification(.interactionOff, []))
        #expect(failure(of: reader) == nil)
    }

    @Test(.needsReader) func `counts only if its service is root's`() throws {
        let bus = try PrivateBus()
        bus.folder.makeFolder("prints")
        let service = try ReaderFixture.start(on: bus, by: 65534)
        defer { service.end() }
        try bus.waitForOwner(of: "net.reactivated.Fprint")
        let reader = FingerprintReader(bus: bus.place, serviceUser: 0)
        #expect(failure(of: reader)?.code == .untrusted)
        #expect(Verification(with: reader) == Verification(.untrusted, []))
        #expect(failure(of: reader)?.hint?.contains("65534") == true)
    }

    @Test(.needsBus) func `is missed where nobody serves it`() throws {
        let bus = try PrivateBus()
        let reader = FingerprintReader(bus: bus.place, serviceUser: 0)
        #expect(failure(of: reader)?.code == .serviceAbsent)
        #expect(Verification(with: reader) == Verification(.serviceAbsent, []))
        #expect(failure(of: reader)?.hint?.contains("fprintd") == true)
    }

    @Test(.needsReader) func `is served by what the bus starts`() throws {
        let bus = try PrivateBus(activating: ReaderFixture.service)
        let reader = FingerprintReader(bus: bus.place, serviceUser: 0)
        // Nobody asked polkit, which is not there.
        #expect(failure(of: reader)?.code == .notPermitted)
        #expect(failure(of: reader)?.code == .notPermitted)
    }

    @Test(.needsBus) func `is looked for on a bus of any name`() throws {
        let bus = try PrivateBus()
        let odd = bus.folder.path("odd, na%me;é=.sock")
        unsafe #expect(link(bus.path, odd) == 0)
        let reader = FingerprintReader(
            bus: BusPlace(path: odd, owner: geteuid()), serviceUser: 0)
        #expect(failure(of: reader)?.code == .serviceAbsent)
    }

    @Test(.needsBus) func `is missed without libsystemd, and the package is named`() throws {
        let bus = try PrivateBus()
        // The second is a library, and not the right one.
        for library in ["libsystemd-absent.so.0", "libc.so.6"] {
            let place = BusPlace(path: bus.path, owner: geteuid(), library: library)
            let error = failure(of: FingerprintReader(bus: place, serviceUser: 0))
            #expect(error?.code == .libraryAbsent)
            #expect(error?.hint?.contains("libsystemd0") == true)
        }
    }

    @Test(.needsBus) func `is looked for on no bus that others could have put there`() throws {
        let bus = try PrivateBus()
        let foreign = BusPlace(path: bus.path, owner: geteuid() + 1)
        #expect(failure(of: FingerprintReader(bus: foreign, serviceUser: 0))?.code == .untrusted)
        let reader = FingerprintReader(bus: bus.place, serviceUser: 0)
        for mode in [0o777, 0o1777, 0o770] as [mode_t] {
            unsafe _ = chmod(bus.folder.path, mode)
            #expect(failure(of: reader)?.code == .untrusted)
        }
        unsafe _ = chmod(bus.folder.path, 0o755)
        #expect(failure(of: reader)?.code == .serviceAbsent)
        bus.folder.link("link.sock", to: bus.path)
        let linked = BusPlace(path: bus.folder.path("link.sock"), owner: geteuid())
        #expect(failure(of: FingerprintReader(bus: linked, serviceUser: 0))?.code == .busAbsent)
    }

    @Test func `is missed where there is no bus`() throws {
        let folder = try TestFolder()
        close(LocalSocket.listen(at: folder.path("left.sock")))
        try folder.write([], to: "file.sock")
        for name in ["absent.sock", "left.sock", "file.sock", "absent/bus.sock"] {
            let place = BusPlace(path: folder.path(name), owner: geteuid())
            let error = failure(of: FingerprintReader(bus: place, serviceUser: 0))
            #expect(error?.code == .busAbsent, "\(name)")
            #expect(error?.hint?.contains("dbus") == true)
        }
    }

    @Test func `is not waited for beyond the deadline on a bus that says nothing`() throws {
        let folder = try TestFolder()
        let listener = LocalSocket.listen(at: folder.path("bus.sock"))
        defer { close(listener) }
        let place = BusPlace(path: folder.path("bus.sock"), owner: geteuid())
        let reader = FingerprintReader(bus: place, serviceUser: 0)
        #expect(failure(of: reader, timeout: .milliseconds(200))?.code == .timedOut)
        let cancellation = try Cancellation()
        Thread {
            usleep(20_000)
            cancellation.cancel()
        }.start()
        #expect(failure(of: reader, cancellation: cancellation)?.code == .cancelled)
    }

    @Test(arguments: ["", "OK\r\n", "REJECTED\r\n", "l\u{1}\u{0}\u{1}", "GET / HTTP/1.1\r\n\r\n"])
    func `is missed on a bus that talks nonsense`(_ answer: String) throws {
        let folder = try TestFolder()
        let listener = LocalSocket.listen(at: folder.path("bus.sock"))
        defer { close(listener) }
        Thread {
            let connection = accept(listener, nil, nil)
            let bytes = Array(answer.utf8)
            unsafe _ = write(connection, bytes, bytes.count)
            close(connection)
        }.start()
        let place = BusPlace(path: folder.path("bus.sock"), owner: geteuid())
        let error = failure(of: FingerprintReader(bus: place, serviceUser: 0))
        #expect(error?.code == .serviceEnded)
    }

    @Test(.needsMounts) func `is found where the machine has one`() throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../scripts/with-fprintd").path
        let agent = try Child(
            script,
            [
                "--enroll", ReaderFixture.enrolled, "sh", "-c",
                "echo reader | \"$0\" 1 | grep -qx 'ok found'", Self.agent,
            ])
        #expect(agent.exitCode(within: 30) == 0)
    }

    @Test func `is looked for at one place, whatever the environment says`() throws {
        #expect(BusPlace.system.path == "/run/dbus/system_bus_socket")
        #expect(BusPlace.system.owner == 0)
        let folder = try TestFolder()
        let listener = LocalSocket.listen(at: folder.path("bus.sock"))
        defer { close(listener) }
        let address = "unix:path=" + folder.path("bus.sock")
        let variables = ["DBUS_SYSTEM_BUS_ADDRESS", "DBUS_STARTER_ADDRESS"].map { ($0, address) }
        // What it finds depends on the machine; whom it does not ask, does not.
        let agent = try Child(
            "/bin/sh", ["-c", "echo reader | \"$0\" 1 | grep -q '^ok [a-z]'", Self.agent],
            Dictionary(uniqueKeysWithValues: variables))
        #expect(agent.exitCode() == 0)
        var request = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        #expect(unsafe poll(&request, 1, 0) == 0)
    }
}
