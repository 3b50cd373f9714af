// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetSystem
import ValetTestValues

@testable import ValetUserPresence

/// A message bus of the test's own, in a temporary folder. Dropping it ends it.
final class PrivateBus {
    static let program = "/usr/bin/dbus-daemon"

    let folder: TestFolder
    private let daemon: Child

    /// - Parameter program: what to start when somebody asks for fprintd.
    init(activating program: String? = nil) throws {
        folder = try TestFolder()
        // polkitd leaves root behind before it connects.
        unsafe _ = chmod(folder.path, 0o711)
        let configuration = Self.configuration(folder.path, activates: program != nil)
        try folder.write(Array(configuration.utf8), to: "bus.conf", mode: 0o644)
        if let program {
            folder.makeFolder("prints")
            let command = "/bin/sh -c \"echo $$ > \(folder.path("pid")); exec \(program) -t\""
            let file = "[D-BUS Service]\nName=net.reactivated.Fprint\nExec=\(command)\nUser=root\n"
            try folder.write(Array(file.utf8), to: "fprintd.service", mode: 0o644)
        }
        daemon = try Child(
            Self.program, ["--config-file=\(folder.path("bus.conf"))", "--nofork", "--nopidfile"],
            ReaderFixture.environment(path: folder.path))
        // That the socket is there is not enough: it listens a moment later.
        guard Wait.until(seconds: 10, { LocalSocket.send("", to: path) }) else {
            throw POSIXError(.ETIMEDOUT)
        }
    }

    var path: String { folder.path("bus.sock") }

    var place: BusPlace { BusPlace(path: path, owner: geteuid()) }

    /// What leads programs that believe it to this bus.
    func connect() throws -> SystemBus {
        try SystemBus(place, WaitLimit(until: Deadline(after: .seconds(10))))
    }

    /// Waits until somebody owns a name.
    func waitForOwner(of name: String) throws {
        let patience = WaitLimit(until: Deadline(after: .seconds(10)))
        var bus = try connect()
        let isThere = Wait.until(seconds: 10) {
            do throws(SystemError) {
                _ = try bus.service(name, ownedBy: .max, patience)
                return true
            } catch {
                guard error.code == .serviceAbsent else { return error.code == .untrusted }
                return false
            }
        }
        guard isThere else { throw POSIXError(.ETIMEDOUT) }
    }

    func end() { daemon.end() }

    deinit {
        // What the bus started is its child, and would outlive it for half a minute.
        let text = (try? folder.read("pid")).map { String(decoding: $0, as: UTF8.self) } ?? ""
        if let number = Int32(text.dropLast()), number > 1 { kill(number, SIGKILL) }
    }

    /// As the machine's own, but for the names that may be owned. What is to start services on a
    /// bus of type `system` is a program of the machine's, so that one has no type.
    private static func configuration(_ folder: String, activates: Bool) -> String {
        let type = activates ? "<servicedir>\(folder)</servicedir>" : "<type>system</type>"
        return """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              \(type)
              <listen>unix:path=\(folder)/bus.sock</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow user="*"/>
                <allow own="*"/>
                <allow send_type="method_call"/>
                <allow send_type="signal"/>
                <allow send_requested_reply="true" send_type="method_return"/>
                <allow send_requested_reply="true" send_type="error"/>
                <allow receive_type="method_call"/>
                <allow receive_type="method_return"/>
                <allow receive_type="error"/>
                <allow receive_type="signal"/>
              </policy>
            </busconfig>
            """
    }
}
