// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem
import ValetTestValues

@testable import ValetUserPresence

/// Why a finger could not be verified; `nil` if it could.
func failure(
    of reader: FingerprintReader, cancellation: Cancellation? = nil,
    timeout: Duration = .seconds(20)
) -> SystemError? {
    do throws(SystemError) {
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

    @Test(.needsReader) func `A fingerprint reader is available with an enrolled finger`() throws {
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

    @Test(.needsReader) func `A fingerprint reader without an enrolled finger is not available`()
        throws
    {
        let fixture = try ReaderFixture(.none)
        #expect(failure(of: fixture.reader)?.code == .nobodyEnrolled)
        #expect(Verification(with: fixture.reader) == Verification(.nobodyEnrolled, []))
        #expect(failure(of: fixture.reader)?.hint?.contains("fprintd-enroll") == true)
    }

    @Test(.needsReader) func `A missing fingerprint reader is reported`() throws {
        let fixture = try ReaderFixture(hasReader: false)
        #expect(failure(of: fixture.reader)?.code == .noReader)
        #expect(Verification(with: fixture.reader) == Verification(.noReader, []))
    }

    @Test(.needsReader)
    func `A fingerprint reader is not available to sessions that polkit refuses`() throws {
        let fixture = try ReaderFixture(hasAuthority: false)
        #expect(Verification(with: fixture.reader) == Verification(.notPermitted, []))
        #expect(failure(of: fixture.reader)?.hint?.contains("polkit") == true)
    }

    // Promise: 18.8
    @Test(.needsReader)
    func `A process with more rights than its caller does not look for a fingerprint reader`()
        throws
    {
        let fixture = try ReaderFixture()
        let reader = fixture.reader(Environment([:], isElevated: true))
        #expect(failure(of: reader)?.code == .elevated)
        #expect(Verification(with: reader) == Verification(.elevated, []))
    }

    // Promise: 18.8
    @Test(.needsReader) func `Where questions are turned off no fingerprint reader is looked for`()
        throws
    {
        let fixture = try ReaderFixture()
        let reader = fixture.reader(Environment(["VALET_INTERACTION": "never"]))
        #expect(Verification(with: reader) == Verification(.interactionOff, []))
        #expect(failure(of: reader) == nil)
    }

    // Promise: 6.1
    @Test(.needsReader) func `A fingerprint service counts only if it belongs to root`() throws {
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

    @Test(.needsBus) func `A bus without a fingerprint service has no reader`() throws {
        let bus = try PrivateBus()
        let reader = FingerprintReader(bus: bus.place, serviceUser: 0)
        #expect(failure(of: reader)?.code == .serviceAbsent)
        #expect(Verification(with: reader) == Verification(.serviceAbsent, []))
        #expect(failure(of: reader)?.hint?.contains("fprintd") == true)
    }

    @Test(.needsReader) func `A bus that starts the fingerprint service has a reader`() throws {
        let bus = try PrivateBus(activating: ReaderFixture.service)
        let reader = FingerprintReader(bus: bus.place, serviceUser: 0)
        // Nobody asked polkit, which is not there.
        #expect(failure(of: reader)?.code == .notPermitted)
        #expect(failure(of: reader)?.code == .notPermitted)
    }

    @Test(.needsBus) func `A fingerprint reader is looked for on a bus of any name`() throws {
        let bus = try PrivateBus()
        let odd = bus.folder.path("odd, na%me;é=.sock")
        unsafe #expect(link(bus.path, odd) == 0)
        let reader = FingerprintReader(
            bus: BusPlace(path: odd, owner: geteuid()), serviceUser: 0)
        #expect(failure(of: reader)?.code == .serviceAbsent)
    }

    @Test(.needsBus) func `Without libsystemd the error names its package`() throws {
        let bus = try PrivateBus()
        // The second is a library, and not the right one.
        for library in ["libsystemd-absent.so.0", "libc.so.6"] {
            let place = BusPlace(path: bus.path, owner: geteuid(), library: library)
            let error = failure(of: FingerprintReader(bus: place, serviceUser: 0))
            #expect(error?.code == .libraryAbsent)
            #expect(error?.hint?.contains("libsystemd0") == true)
        }
    }

    // Promise: 6.1
    @Test(.needsBus) func `A bus that others could have placed is not used`() throws {
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

    @Test func `Without a bus there is no fingerprint reader`() throws {
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

    // Promise: 18.7
    @Test func `A silent bus is waited for until the deadline`() throws {
        let folder = try TestFolder()
        let listener = LocalSocket.listen(at: folder.path("bus.sock"))
        defer { close(listener) }
        let place = BusPlace(path: folder.path("bus.sock"), owner: geteuid())
        let reader = FingerprintReader(bus: place, serviceUser: 0)
        #expect(failure(of: reader, timeout: .milliseconds(200))?.code == .timedOut)
        let cancellation = Cancellation()
        Thread {
            usleep(20_000)
            cancellation.cancel()
        }.start()
        #expect(failure(of: reader, cancellation: cancellation)?.code == .cancelled)
    }

    @Test(arguments: ["", "OK\r\n", "REJECTED\r\n", "l\u{1}\u{0}\u{1}", "GET / HTTP/1.1\r\n\r\n"])
    func `A bus that sends nonsense has no fingerprint reader`(_ answer: String) throws {
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

    @Test(.needsMounts) func `The fingerprint reader of this machine is found if there is one`()
        throws
    {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../scripts/with-fprintd").path
        let agent = try Child(
            script,
            [
                "--enroll", ReaderFixture.enrolled, "sh", "-c",
                "echo reader | \"$0\" 1 | grep -qx 'ok found'", Self.agent,
            ])
        #expect(agent.exitCode(within: 30) == 0)
    }

    // Promise: 6.1
    @Test func `The bus is at one path whatever the environment says`() throws {
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
