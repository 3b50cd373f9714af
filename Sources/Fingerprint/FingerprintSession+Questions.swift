// SPDX-License-Identifier: Apache-2.0

internal import ValetSystemBus

/// What fprintd is asked: its methods, with their answers as values.
extension FingerprintSession {
    mutating func devicePaths(
        _ patience: Patience
    ) throws(FingerprintError) -> [String] {
        let call = BusCall("GetDevices", of: Self.manager, on: service, to: "find a reader")
        guard let paths = try values(call, patience).first?.texts else {
            throw FingerprintError(.malformed, during: call.operation)
        }
        return paths
    }

    /// What there is to know of a reader; `nil` if it has just been unplugged.
    mutating func device(_ path: String) throws(FingerprintError) -> Device? {
        let object = BusObject(path: path, interface: Self.deviceInterface)
        do throws(FingerprintError) {
            return Device(
                object: object, name: try property("name", of: path),
                gesture: try property("scan-type", of: path) == "swipe" ? .swipe : .press,
                fingers: try fingers(object))
        } catch {
            guard error.code == .unplugged else { throw error }
            return nil
        }
    }

    mutating func fingers(_ device: BusObject) throws(FingerprintError) -> [String] {
        let call = BusCall(
            "ListEnrolledFingers", of: device, on: service, [userName],
            to: "list the enrolled fingers")
        do throws(FingerprintError) {
            guard let fingers = try values(call, patience).first?.texts else {
                throw FingerprintError(.malformed, during: call.operation)
            }
            return fingers
        } catch {
            guard error.code == .nobodyEnrolled else { throw error }
            return []
        }
    }

    mutating func property(
        _ name: String, of path: String
    ) throws(FingerprintError) -> String {
        let call = BusCall(
            "Get", of: BusObject(path: path, interface: "org.freedesktop.DBus.Properties"),
            on: service, [Self.deviceInterface, name],
            to: "learn the reader's \(name)")
        guard let text = try values(call, patience).first?.text else {
            throw FingerprintError(.malformed, during: call.operation)
        }
        return text
    }

    mutating func call(
        _ member: String, of device: BusObject, _ argument: String? = nil, to operation: String
    ) throws(FingerprintError) {
        let call = BusCall(
            member, of: device, on: service, argument.map { [$0] } ?? [], to: operation)
        _ = try values(call, patience)
    }

    mutating func values(
        _ call: BusCall, _ patience: Patience
    ) throws(FingerprintError) -> [BusValue] {
        do throws(SystemBusError) {
            return try bus.call(call, patience)
        } catch {
            throw FingerprintError(error)
        }
    }
}
