// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetSystem
import ValetTestValues

@testable import ValetUserPresence

/// The real fprintd with libfprint's virtual reader, and polkitd, on a bus of their own. Dropping
/// it ends all of them.
final class ReaderFixture {
    enum Prints {
        /// The right index finger of root, of the name `enrolled`.
        case enrolled
        case none
    }

    static let service = "/usr/libexec/fprintd"
    static let authority = "/usr/lib/polkit-1/polkitd"
    static let enrolled = "finger-A"

    let bus: PrivateBus
    let service: Child
    private let authority: Child?

    init(_ prints: Prints = .enrolled, hasReader: Bool = true, hasAuthority: Bool = true) throws {
        bus = try PrivateBus()
        let environment = Self.environment(path: bus.folder.path)
        authority = hasAuthority ? try Child(Self.authority, ["--no-debug"], environment) : nil
        bus.folder.makeFolder("prints")
        if prints == .enrolled {
            let print = try Self.enrolledPrint.get()
            try FileManager.default.createDirectory(
                atPath: bus.folder.path("prints/" + Self.printFolder),
                withIntermediateDirectories: true)
            try bus.folder.write(print, to: "prints/" + Self.printFolder + "/7")
        }
        service = try Self.start(on: bus, hasReader: hasReader)
        if hasAuthority { try bus.waitForOwner(of: "org.freedesktop.PolicyKit1") }
        try bus.waitForOwner(of: "net.reactivated.Fprint")
    }

    deinit {
        service.end()
        authority?.end()
        bus.end()
    }

    var reader: FingerprintReader { reader() }

    func reader(serviceUser: UInt32 = 0, _ environment: Environment = .ofProcess)
        -> FingerprintReader
    {
        FingerprintReader(bus: bus.place, serviceUser: serviceUser, environment: environment)
    }

    /// What leads programs to the bus in a folder, and fprintd to its prints and its reader. Of all
    /// drivers it gets the virtual one alone: a reader of this machine is nobody's business here.
    static func environment(path: String) -> [String: String] {
        [
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(path)/bus.sock",
            "STATE_DIRECTORY": path + "/prints", "FP_DRIVERS_WHITELIST": "virtual_device",
            "FP_VIRTUAL_DEVICE": path + "/reader.sock",
        ]
    }

    /// Starts fprintd.
    static func start(on bus: PrivateBus, hasReader: Bool = true, by user: UInt32? = nil) throws
        -> Child
    {
        var environment = environment(path: bus.folder.path)
        if !hasReader { environment["FP_VIRTUAL_DEVICE"] = nil }
        guard let user else { return try Child(service, ["-t"], environment) }
        return try Child(
            "/usr/bin/setpriv",
            ["--reuid=\(user)", "--regid=\(user)", "--clear-groups", service, "-t"], environment)
    }

    /// What a person does, at the reader or at its plug: `SCAN name`, `RETRY number`, `UNPLUG`.
    func act(_ command: String) {
        // The reader listens while it is claimed only.
        _ = Wait.until(seconds: 5) { LocalSocket.send(command, to: bus.folder.path("reader.sock")) }
    }

    private static let printFolder = "root/virtual_device/0"

    /// A print that was enrolled once, by the real service, for all tests of this process.
    private static let enrolledPrint = Result { try enrol() }

    private static func enrol() throws -> [UInt8] {
        let fixture = try ReaderFixture(.none)
        let patience = WaitLimit(until: Deadline(after: .seconds(20)))
        var bus = try fixture.bus.connect()
        let service = try bus.service("net.reactivated.Fprint", ownedBy: 0, patience)
        let device = BusObject(
            path: "/net/reactivated/Fprint/Device/0", interface: "net.reactivated.Fprint.Device")
        try bus.subscribe(to: device, of: service, patience)
        for (member, argument) in [("Claim", "root"), ("EnrollStart", "right-index-finger")] {
            try bus.call(
                BusCall(member, of: device, on: service, [argument], to: "enroll"), patience)
        }
        var isOver = false
        while !isOver {
            fixture.act("SCAN \(enrolled)")
            let signal = try bus.nextSignal(of: service, patience, to: "enroll")
            isOver = signal.arguments.last == .flag(true)
            if isOver, signal.arguments.first?.text != "enroll-completed" {
                throw POSIXError(.EIO)
            }
        }
        for member in ["EnrollStop", "Release"] {
            try bus.call(BusCall(member, of: device, on: service, to: "enroll"), patience)
        }
        return try fixture.bus.folder.read("prints/" + printFolder + "/7")
    }
}
