// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// One conversation with fprintd, on a connection of its own.
///
/// Dropping it closes the connection. fprintd then releases the reader, even if it did not answer
/// the call to release it.
struct FingerprintSession: ~Copyable {
    /// A reader, and the fingers that the user has enrolled on it.
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
    /// How long fprintd may take to release the reader, and to list the readers after a failure.
    private static let grace = Duration.seconds(1)
    /// How long fprintd may go on listing a reader that was unplugged.
    private static let parting = Duration.milliseconds(500)
    /// The pause between two looks at that list, in nanoseconds.
    private static let partingPause: Int64 = 25_000_000

    var bus: SystemBus
    let service: BusService
    let userName: String
    let limit: WaitLimit

    /// Connects to the bus and finds fprintd.
    static func begin(
        _ place: BusPlace, serviceUser: UInt32, userName: String, _ limit: WaitLimit
    ) throws(SystemError) -> FingerprintSession {
        do {
            var bus = try SystemBus(place, limit)
            let service = try bus.service(serviceName, ownedBy: serviceUser, limit)
            return FingerprintSession(
                bus: bus, service: service, userName: userName, limit: limit)
        } catch {
            throw error.ofFinger
        }
    }

    /// The readers on which the user has enrolled a finger: at least one.
    ///
    /// - Throws: `noReader`, `nobodyEnrolled`, and the errors of the calls.
    mutating func enrolledDevices() throws(SystemError) -> [Device] {
        let paths = try devicePaths(limit)
        guard !paths.isEmpty else { throw SystemError.finger(.noReader, during: "find a reader") }
        var devices: [Device] = []
        for path in paths {
            if let device = try device(path), !device.fingers.isEmpty { devices.append(device) }
        }
        guard !devices.isEmpty else {
            throw SystemError.finger(.nobodyEnrolled, during: "list the enrolled fingers")
        }
        return devices
    }

    /// Claims the reader, scans fingers, and releases the reader in any case.
    mutating func verify(
        _ enrolment: [UInt8]?, _ report: (FingerprintEvent) -> Void
    ) throws(SystemError) -> EnrolmentState {
        let devices = try enrolledDevices()
        let wanted = devices.first { $0.state.bytes == enrolment } ?? devices[0]
        let path = wanted.object.path
        let object = BusObject(path: path, interface: Self.deviceInterface)
        try call("Claim", of: object, userName, to: "claim the reader")
        do throws(SystemError) {
            try listen(to: object)
            // Ask again: enrolled fingers can change until the claim, and not after it.
            guard let device = try device(path) else { throw SystemError.finger(.unplugged) }
            try scan(on: device, report)
            release(object, WaitLimit(until: Deadline(after: Self.grace)))
            return device.state
        } catch {
            let limit = WaitLimit(until: Deadline(after: Self.grace))
            release(object, limit)
            guard error.code == .readerFailed, isGone(path, limit) else { throw error }
            throw SystemError.finger(.unplugged)
        }
    }

    /// Begins to receive scans. Must not be called before the claim: until then a scan may be of
    /// another user's finger, and match that user's prints.
    private mutating func listen(to device: BusObject) throws(SystemError) {
        do {
            try bus.subscribe(to: device, of: service, limit)
        } catch {
            throw error.ofFinger
        }
    }

    /// Scans until a finger is recognised.
    private mutating func scan(
        on device: Device, _ report: (FingerprintEvent) -> Void
    ) throws(SystemError) {
        var triesLeft = FingerprintReader.tryCount
        while true {
            try call("VerifyStart", of: device.object, "any", to: "verify the finger")
            report(.waiting(reader: device.name, gesture: device.gesture))
            let status = try result(of: device.object, report)
            // fprintd wants a stop before the next start, even if it has ended the scan itself.
            if status != .match {
                try call("VerifyStop", of: device.object, to: "verify the finger")
            }
            switch status {
            case .match: return
            case .noMatch:
                triesLeft -= 1
                guard triesLeft > 0 else { throw SystemError.finger(.noMatch) }
                report(.noMatch(triesLeft: triesLeft))
            case .retry(let reason, _): report(.retry(reason))
            case .unplugged: throw SystemError.finger(.unplugged)
            case .failed: throw SystemError.finger(.readerFailed)
            }
        }
    }

    /// Waits for the result of one verification.
    private mutating func result(
        of device: BusObject, _ report: (FingerprintEvent) -> Void
    ) throws(SystemError) -> VerifyStatus {
        while true {
            let signal: BusSignal
            do {
                signal = try bus.nextSignal(of: service, limit, to: "verify the finger")
            } catch {
                throw error.ofFinger
            }
            guard signal.object == device else { continue }
            switch try VerifyStatus(signal.member, signal.arguments) {
            case .retry(let reason, goesOn: true): report(.retry(reason))
            case .some(let status): return status
            case nil: continue
            }
        }
    }

    /// Releases the reader. If this fails, closing the connection releases it.
    private mutating func release(_ device: BusObject, _ limit: WaitLimit) {
        for member in ["VerifyStop", "Release"] {
            let call = BusCall(member, of: device, on: service, to: "release the reader")
            do {
                try bus.call(call, limit)
            } catch {
                // A refusal ends the call. After any other error the first call may still run, and
                // fprintd cannot handle a second one at the same time.
                guard error.code.refusal != nil else { return }
            }
        }
    }

    /// Whether a failed reader was unplugged: fprintd reports both alike, and may list an unplugged
    /// reader for a moment.
    private mutating func isGone(_ path: String, _ limit: WaitLimit) -> Bool {
        let end = Deadline(after: Self.parting)
        repeat {
            guard let paths = try? devicePaths(limit) else { return false }
            if !paths.contains(path) { return true }
        } while end.sleep(atMost: Self.partingPause)
        return false
    }
}

/// The methods of fprintd, with their answers as values.
extension FingerprintSession {
    mutating func devicePaths(
        _ limit: WaitLimit
    ) throws(SystemError) -> [String] {
        let call = BusCall("GetDevices", of: Self.manager, on: service, to: "find a reader")
        guard let paths = try values(call, limit).first?.texts else {
            throw SystemError.finger(.malformed, during: call.operation)
        }
        return paths
    }

    /// The properties of a reader; `nil` if it has just been unplugged.
    mutating func device(_ path: String) throws(SystemError) -> Device? {
        let object = BusObject(path: path, interface: Self.deviceInterface)
        do {
            return Device(
                object: object, name: try property("name", of: path),
                gesture: try property("scan-type", of: path) == "swipe" ? .swipe : .press,
                fingers: try fingers(object))
        } catch {
            guard error.code == .unplugged else { throw error }
            return nil
        }
    }

    mutating func fingers(_ device: BusObject) throws(SystemError) -> [String] {
        let call = BusCall(
            "ListEnrolledFingers", of: device, on: service, [userName],
            to: "list the enrolled fingers")
        do throws(SystemError) {
            guard let fingers = try values(call, limit).first?.texts else {
                throw SystemError.finger(.malformed, during: call.operation)
            }
            return fingers
        } catch {
            guard error.code == .nobodyEnrolled else { throw error }
            return []
        }
    }

    mutating func property(
        _ name: String, of path: String
    ) throws(SystemError) -> String {
        let call = BusCall(
            "Get", of: BusObject(path: path, interface: "org.freedesktop.DBus.Properties"),
            on: service, [Self.deviceInterface, name],
            to: "read the reader's \(name)")
        guard let text = try values(call, limit).first?.text else {
            throw SystemError.finger(.malformed, during: call.operation)
        }
        return text
    }

    mutating func call(
        _ member: String, of device: BusObject, _ argument: String? = nil, to operation: String
    ) throws(SystemError) {
        let call = BusCall(
            member, of: device, on: service, argument.map { [$0] } ?? [], to: operation)
        _ = try values(call, limit)
    }

    mutating func values(
        _ call: BusCall, _ limit: WaitLimit
    ) throws(SystemError) -> [BusValue] {
        do {
            return try bus.call(call, limit)
        } catch {
            throw error.ofFinger
        }
    }
}

/// The result of a scan, from fprintd's signal `VerifyStatus`.
enum VerifyStatus: Equatable {
    case match
    case noMatch
    /// The scan was unusable. `goesOn`: whether fprintd continues to scan by itself.
    case retry(FingerprintEvent.RetryReason, goesOn: Bool)
    case unplugged
    case failed

    /// Reads the signal; `nil` if it has another name.
    ///
    /// - Throws: `malformed` for values that no version of fprintd sends: a result is never
    ///   guessed.
    init?(_ member: String, _ arguments: [BusValue]) throws(SystemError) {
        guard member == "VerifyStatus" else { return nil }
        guard arguments.count == 2, let result = arguments[0].text,
            case .flag(let isOver) = arguments[1]
        else { throw SystemError.finger(.malformed) }
        switch (result, isOver) {
        case ("verify-match", true): self = .match
        case ("verify-no-match", true): self = .noMatch
        case ("verify-retry-scan", _): self = .retry(.unclear, goesOn: !isOver)
        case ("verify-swipe-too-short", _): self = .retry(.tooShort, goesOn: !isOver)
        case ("verify-finger-not-centered", _): self = .retry(.notCentered, goesOn: !isOver)
        case ("verify-remove-and-retry", _): self = .retry(.removeFinger, goesOn: !isOver)
        case ("verify-disconnected", _): self = .unplugged
        case ("verify-unknown-error", _): self = .failed
        default: throw SystemError.finger(.malformed)
        }
    }
}
