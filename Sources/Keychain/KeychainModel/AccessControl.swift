// SPDX-License-Identifier: Apache-2.0

/// The conditions for reading an item: what the user has to prove, and when the item may be read
/// (`kSecAttrAccessControl`; spec/secitem.md §10).
///
/// Two are equal when they mean the same, however they were spelled: ``init(_:_:)`` brings the
/// constraints into one form.
package struct AccessControl: Hashable, Sendable {
    /// The proofs that the user must give: the bits of spec/secitem.md §10.1.
    package struct Constraints: OptionSet, Hashable, Sendable {
        /// The bits, as `SecAccessControlCreateFlags` and docs/FORMAT.md §5.4 have them.
        package let rawValue: UInt32

        package init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        package static let userPresence = Constraints(rawValue: 1 << 0)
        /// Any finger that is enrolled when the item is read.
        package static let biometryAny = Constraints(rawValue: 1 << 1)
        /// A finger, while the same fingers are enrolled as when the item was added.
        package static let biometryCurrentSet = Constraints(rawValue: 1 << 3)
        package static let devicePasscode = Constraints(rawValue: 1 << 4)
        /// Another device of the person, which does not exist on Linux.
        package static let companion = Constraints(rawValue: 1 << 5)
        package static let or = Constraints(rawValue: 1 << 14)
        package static let and = Constraints(rawValue: 1 << 15)
        /// The constraints are about the use of a private key.
        package static let privateKeyUsage = Constraints(rawValue: 1 << 30)
        /// The application adds a secret of its own, which is required beside all others.
        package static let applicationPassword = Constraints(rawValue: 1 << 31)

        /// Either of the two that ask for a finger.
        package static let biometry: Constraints = [.biometryAny, .biometryCurrentSet]
        /// The constraints that each demand a proof from a person.
        package static let single: Constraints = [
            .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion,
        ]
        static let known: Constraints = single.union([
            .or, .and, .privateKeyUsage, .applicationPassword,
        ])
    }

    package private(set) var protectionClass: ProtectionClass
    /// In normal form: no unknown bits; one of `or` and `and` if there are at least two single
    /// constraints to join, else neither.
    package let constraints: Constraints
    /// Whether this names only a class, as for items without an access control. It is never equal
    /// to an access control from an application (spec/secitem.md §3.4).
    package let isPlain: Bool
    /// The fingers that were enrolled when the item was added: only in stored items with
    /// `biometryCurrentSet`. At most 255 bytes, compared byte by byte.
    package private(set) var enrolment: [UInt8]?

    package init(plain protectionClass: ProtectionClass) {
        self.protectionClass = protectionClass
        constraints = []
        isPlain = true
    }

    /// An access control in normal form.
    ///
    /// - Throws: ``KeychainFailure/Code/invalidRequest`` for constraints that cannot be combined
    ///   (errSecParam; spec/secitem.md §10.2).
    package init(
        _ protectionClass: ProtectionClass, _ given: Constraints
    ) throws(KeychainFailure) {
        guard !given.isSuperset(of: [.or, .and]) else {
            throw Self.contradiction("`or` and `and` cannot be combined")
        }
        guard !given.isSuperset(of: .biometry) else {
            throw Self.contradiction("any finger and the current fingers cannot be combined")
        }
        let others = given.subtracting([.userPresence, .privateKeyUsage, .applicationPassword])
        guard !given.contains(.userPresence) || others.isDisjoint(with: .known) else {
            throw Self.contradiction("user presence is a choice already, and stands alone")
        }
        self.protectionClass = protectionClass
        isPlain = false
        constraints = given.intersection(.known).withOneJunction
    }

    private static func contradiction(_ message: String) -> KeychainFailure {
        KeychainFailure(.invalidRequest, during: "make an access control", message: message)
    }

    /// The same for another class.
    package func with(_ protectionClass: ProtectionClass) -> AccessControl {
        var changed = self
        changed.protectionClass = protectionClass
        return changed
    }

    /// The same, bound to the enrolled fingers; unchanged without `biometryCurrentSet`.
    package func bound(to enrolment: [UInt8]?) -> AccessControl {
        guard constraints.contains(.biometryCurrentSet) else { return self }
        var bound = self
        bound.enrolment = enrolment
        return bound
    }

    /// The same without the binding, as applications see it.
    package var unbound: AccessControl { bound(to: nil) }
}

extension AccessControl.Constraints {
    /// With `and` if two constraints need a junction and have none; without `or` and `and` if there
    /// is nothing to join.
    fileprivate var withOneJunction: Self {
        let count = intersection(.single).rawValue.nonzeroBitCount
        guard count > 1 else { return subtracting([.or, .and]) }
        return contains(.or) ? self : union(.and)
    }
}

extension AccessControl {
    package struct Factors: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        package static let passcode = Factors(rawValue: 1)
        package static let fingerprint = Factors(rawValue: 2)
    }

    /// The ways to open the item. One way suffices, and needs all of its factors.
    ///
    /// Without a way, the item cannot be opened. A way without factors does not need the user.
    package struct Demand: Hashable, Sendable {
        /// The ways, each at most once, those with fewer factors first.
        package let ways: [Factors]

        init(_ ways: [Factors]) { self.ways = ways }

        package var isNothing: Bool { ways.contains([]) }
        package var isImpossible: Bool { ways.isEmpty }
        package var needsPasscode: Bool { ways.allSatisfy { $0.contains(.passcode) } }

        package func isMet(by factors: Factors) -> Bool {
            ways.contains { factors.isSuperset(of: $0) }
        }

    }

    /// The proofs that must be given before the value is released.
    ///
    /// There is no companion device here: it makes a demand impossible unless `or` offers another
    /// factor. An application's password (``takesPassword``) is required separately.
    package var demand: Demand {
        guard !constraints.contains(.userPresence) else {
            return Demand([.fingerprint, .passcode])
        }
        var factors: [Factors?] = []
        if !constraints.isDisjoint(with: .biometry) { factors.append(.fingerprint) }
        if constraints.contains(.devicePasscode) { factors.append(.passcode) }
        if constraints.contains(.companion) { factors.append(nil) }
        guard !constraints.contains(.or) else { return Demand(factors.compactMap { $0 }) }
        guard !factors.contains(nil) else { return Demand([]) }
        return Demand([factors.reduce(into: []) { $0.formUnion($1 ?? []) }])
    }

    /// Whether the value is also sealed under an application's password (docs/FORMAT.md §5.5).
    package var takesPassword: Bool { constraints.contains(.applicationPassword) }

    /// The demand, given `enrolled`: one enrolment for each reader that has enrolled fingers.
    ///
    /// If the reader that the item was bound to has other fingers now, no finger counts. An absent
    /// reader changes nothing, because it may come back.
    /// - Returns: The rest of the demand; impossible if every way needs a finger.
    package func demand(enrolled: [[UInt8]]) -> Demand {
        guard let enrolment, !enrolled.contains(enrolment),
            enrolled.contains(where: { Self.reader(of: $0) == Self.reader(of: enrolment) })
        else { return demand }
        return Demand(demand.ways.filter { !$0.contains(.fingerprint) })
    }

    /// The reader of an enrolment: docs/FORMAT.md §5.4.
    private static func reader(of enrolment: [UInt8]) -> ArraySlice<UInt8> {
        enrolment.count > readerByteCount ? enrolment.prefix(readerByteCount) : []
    }

    private static let readerByteCount = 32
}

/// The bytes of attribute `accc`: docs/FORMAT.md §5.4.
extension AccessControl {
    private static let version: UInt8 = 1
    private static let headByteCount = 7

    /// version u8 = 1 ‖ class u8 ‖ constraints u32 ‖ byte count of the enrolment u8 ‖ enrolment.
    ///
    /// A plain access control has no bytes: items without an access control lack `accc`.
    package var encoded: [UInt8] {
        precondition(!isPlain, "an absent value is not encoded")
        let enrolment = enrolment ?? []
        precondition(enrolment.count <= 255, "an enrolment has at most 255 bytes")
        let bits = constraints.rawValue
        let constraints = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bits >> UInt32($0)) }
        return [Self.version, protectionClass.rawValue] + constraints
            + [UInt8(enrolment.count)] + enrolment
    }

    /// Parses ``encoded``; nil for every other byte sequence.
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

/// The text that `CFCopyDescription` gives (spec/secitem.md §10.3).
extension AccessControl: CustomStringConvertible {
    /// The class, then what each operation requires.
    package var description: String { description(ofClass: protectionClass.code) }

    /// The same with another name of the class.
    package func description(ofClass code: String) -> String {
        var parts = [code]
        if constraints.contains(.applicationPassword) { parts.append("prp(true)") }
        if !isPlain { parts += operations.map { "\($0.name)(\($0.rule))" } }
        return "<SecAccessControlRef: \(parts.joined(separator: ";"))>"
    }

    /// The operations and their rules, sorted by name: the table in spec/secitem.md §10.3.
    private var operations: [(name: String, rule: String)] {
        let isOfKey = constraints.contains(.privateKeyUsage)
        let rule = rule
        guard isOfKey || rule != nil else { return [("dacl", "true")] }
        guard isOfKey else { return [("od", rule ?? "true"), ("odel", "true"), ("oe", "true")] }
        let use = rule ?? "true"
        return [("oa", "true"), ("ock", use), ("odel", "true"), ("okd", use), ("osgn", use)]
    }

    /// The rule of the constraints; nil without constraints.
    private var rule: String? {
        var members: [String] = []
        if constraints.contains(.userPresence) {
            members.append("cpo(DeviceOwnerAuthentication)")
        }
        if !constraints.isDisjoint(with: .biometry) { members.append("cbio(\(biometry))") }
        if constraints.contains(.companion) { members.append("cwtch") }
        if constraints.contains(.devicePasscode) { members.append("cup(true)") }
        guard members.count > 1 else { return members.first }
        let needed = constraints.contains(.or) ? 1 : members.count
        return "ckon(pkofn(\(needed))\(members.joined()))"
    }

    private var biometry: String {
        let enrolment = (enrolment ?? []).map { byte in
            let digits = String(byte, radix: 16)
            return digits.utf8.count == 1 ? "0" + digits : digits
        }
        // The user's id, which is empty here; then the fingers, if they matter.
        let isOfCurrentSet = constraints.contains(.biometryCurrentSet)
        return "pbioc(<>)" + (isOfCurrentSet ? "pbioh(<\(enrolment.joined())>)" : "")
    }
}
