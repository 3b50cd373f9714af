// SPDX-License-Identifier: Apache-2.0

/// The bytes of attribute `accc`: docs/FORMAT.md §5.4.
extension AccessControl {
    private static let version: UInt8 = 1
    private static let headByteCount = 7

    /// version u8 = 1 ‖ class u8 ‖ constraints u32 ‖ byte count of the enrolment u8 ‖ enrolment.
    ///
    /// Of one that is plain there are no bytes: items without an access control lack `accc`.
    package var encoded: [UInt8] {
        precondition(!isPlain, "what is not there is not encoded")
        let enrolment = enrolment ?? []
        precondition(enrolment.count <= 255, "an enrolment has at most 255 bytes")
        let bits = constraints.rawValue
        let constraints = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bits >> UInt32($0)) }
        return [Self.version, protectionClass.rawValue] + constraints
            + [UInt8(enrolment.count)] + enrolment
    }

    /// Parses ``encoded``; nil for anything that it does not give.
    package init?(encoded bytes: [UInt8]) {
        guard bytes.count >= Self.headByteCount, bytes[0] == Self.version,
            let protectionClass = ProtectionClass(rawValue: bytes[1]),
            bytes.count == Self.headByteCount + Int(bytes[6])
        else { return nil }
        let bits = bytes[2..<6].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard let made = try? AccessControl(protectionClass, Constraints(rawValue: bits)),
            made.constraints.rawValue == bits
        else { return nil }
        let enrolment = Array(bytes[Self.headByteCount...])
        guard enrolment.isEmpty || made.constraints.contains(.biometryCurrentSet) else {
            return nil
        }
        self = enrolment.isEmpty ? made : made.bound(to: enrolment)
    }
}
