// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem
internal import ValetSystemBus

/// One conversation with fprintd, on a connection of its own.
///
/// When it is dropped the connection ends, and fprintd lets go of what was claimed on it: also
/// where it did not answer when it was asked to.
struct FingerprintSession: ~Copyable {
    /// A reader, and what the user has enrolled on it.
    struct Device {
        let object: BusObject
        let name: String
        let gesture: FingerprintEvent.Gesture
        let fingers: [String]

        var state: EnrolmentState { EnrolmentState(reader: name, fingers: fingers) }
    }

    private static let serviceName = "net.reactivated.Fprint"
    static let manager = BusObject(
        path: "/net/reactivated/Fprint/Manager", interface: "net.reactivated.Fprint.Manager")
    static let deviceInterface = "net.reactivated.Fprint.Device"
    /// How long fprintd may take to let go of the reader, and to say what became of it.
    private static let grace = Duration.seconds(1)
    /// How long a reader that was unplugged may still be listed.
    private static let parting = Duration.milliseconds(500)
    /// How often to look whether it is, in nanoseconds.
    private static let partingPause: Int64 = 25_000_000

    var bus: SystemBus
    let service: BusService
    let userName: String
    let patience: Patience

    /// Connects to the bus and finds fprintd.
    static func begin(
        _ place: BusPlace, serviceUser: UInt32, userName: String, _ patience: Patience
    ) throws(FingerprintError) -> FingerprintSession {
        do throws(SystemBusError) {
            var bus = try SystemBus(place, patience)
            let service = try bus.service(serviceName, ownedBy: serviceUser, patience)
            return FingerprintSession(
                bus: bus, service: service, userName: userName, patience: patience)
        } catch {
            throw FingerprintError(error)
        }
    }

    /// The readers that the user has a finger enrolled on: at least one.
    ///
    /// - Throws: `noReader`, `nobodyEnrolled`, and what the calls lead to.
    mutating func enrolledDevices() throws(FingerprintError) -> [Device] {
        let paths = try devicePaths(patience)
        guard !paths.isEmpty else { throw FingerprintError(.noReader, during: "find a reader") }
        var devices: [Device] = []
        for path in paths {
            if let device = try device(path), !device.fingers.isEmpty { devices.append(device) }
        }
        guard !devices.isEmpty else {
            throw FingerprintError(.nobodyEnrolled, during: "list the enrolled fingers")
        }
        return devices
    }

    /// Claims the reader, has fingers scanned, and lets the reader go whatever came of it.
    mutating func verify(
        _ enrolment: [UInt8]?, _ report: (FingerprintEvent) -> Void
    ) throws(FingerprintError) -> EnrolmentState {
        let devices = try enrolledDevices()
        let wanted = devices.first { $0.state.bytes == enrolment } ?? devices[0]
        let path = wanted.object.path
        let object = BusObject(path: path, interface: Self.deviceInterface)
        try call("Claim", of: object, userName, to: "claim the reader")
        do throws(FingerprintError) {
            try listen(to: object)
            // Asked again: what is enrolled can be changed up to the claim, and not after it.
            guard let device = try device(path) else { throw FingerprintError(.unplugged) }
            try scan(on: device, report)
            release(object, Patience(until: Deadline(after: Self.grace)))
            return device.state
        } catch {
            let patience = Patience(until: Deadline(after: Self.grace))
            release(object, patience)
            guard error.code == .readerFailed, isGone(path, patience) else { throw error }
            throw FingerprintError(.unplugged, underlying: error)
        }
    }

    /// Begins to hear of scans. Not before the claim: what was scanned up to then was somebody
    /// else's finger, and one that matched theirs.
    private mutating func listen(to device: BusObject) throws(FingerprintError) {
        do throws(SystemBusError) {
            try bus.subscribe(to: device, of: service, patience)
        } catch {
            throw FingerprintError(error)
        }
    }

    /// Scans until a finger is recognised.
    private mutating func scan(
        on device: Device, _ report: (FingerprintEvent) -> Void
    ) throws(FingerprintError) {
        var triesLeft = FingerprintReader.tryCount
        while true {
            try call("VerifyStart", of: device.object, "any", to: "verify the finger")
            report(.waiting(reader: device.name, gesture: device.gesture))
            let status = try result(of: device.object, report)
            // What fprintd has ended has to be stopped as well, before it can be started again.
            if status != .match {
                try call("VerifyStop", of: device.object, to: "verify the finger")
            }
            switch status {
            case .match: return
            case .noMatch:
                triesLeft -= 1
                guard triesLeft > 0 else { throw FingerprintError(.noMatch) }
                report(.noMatch(triesLeft: triesLeft))
            case .retry(let reason, _): report(.retry(reason))
            case .unplugged: throw FingerprintError(.unplugged)
            case .failed: throw FingerprintError(.readerFailed)
            }
        }
    }

    /// Waits until fprintd has done with one verification.
    private mutating func result(
        of device: BusObject, _ report: (FingerprintEvent) -> Void
    ) throws(FingerprintError) -> VerifyStatus {
        while true {
            let signal: BusSignal
            do throws(SystemBusError) {
                signal = try bus.nextSignal(of: service, patience, to: "verify the finger")
            } catch {
                throw FingerprintError(error)
            }
            guard signal.object == device else { continue }
            switch try VerifyStatus(signal.member, signal.arguments) {
            case .retry(let reason, goesOn: true): report(.retry(reason))
            case .some(let status): return status
            case nil: continue
            }
        }
    }

    /// Lets go of the reader. What fails here ends with the connection.
    private mutating func release(_ device: BusObject, _ patience: Patience) {
        for member in ["VerifyStop", "Release"] {
            let call = BusCall(member, of: device, on: service, to: "let go of the reader")
            do throws(SystemBusError) {
                try bus.call(call, patience)
            } catch {
                // One call at a time: fprintd gets confused by the second within the first.
                guard case .refused = error.code else { return }
            }
        }
    }

    /// Whether a reader that failed is there no longer: fprintd calls both the same, and may list
    /// it for a moment longer.
    private mutating func isGone(_ path: String, _ patience: Patience) -> Bool {
        let end = Deadline(after: Self.parting)
        repeat {
            guard let paths = try? devicePaths(patience) else { return false }
            if !paths.contains(path) { return true }
        } while end.sleep(atMost: Self.partingPause)
        return false
    }
}
