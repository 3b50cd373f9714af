// SPDX-License-Identifier: Apache-2.0

/// The text that `CFCopyDescription` gives (spec/secitem.md §10.3).
extension AccessControl: CustomStringConvertible {
    /// The class, then which operation takes what.
    package var description: String { description(ofClass: protectionClass.code) }

    /// The same with another name of the class.
    package func description(ofClass code: String) -> String {
        var parts = [code]
        if constraints.contains(.applicationPassword) { parts.append("prp(true)") }
        if !isPlain { parts += operations.map { "\($0.name)(\($0.rule))" } }
        return "<SecAccessControlRef: \(parts.joined(separator: ";"))>"
    }

    /// spec/secitem.md §10.3, the table; in the order of the names.
    private var operations: [(name: String, rule: String)] {
        let isOfKey = constraints.contains(.privateKeyUsage)
        let rule = rule
        guard isOfKey || rule != nil else { return [("dacl", "true")] }
        guard isOfKey else { return [("od", rule ?? "true"), ("odel", "true"), ("oe", "true")] }
        let use = rule ?? "true"
        return [("oa", "true"), ("ock", use), ("odel", "true"), ("okd", use), ("osgn", use)]
    }

    /// What the constraints come to; nil if there are none.
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
        // Of whom, which nobody has to say here; then which fingers, if they matter.
        let isOfCurrentSet = constraints.contains(.biometryCurrentSet)
        return "pbioc(<>)" + (isOfCurrentSet ? "pbioh(<\(enrolment.joined())>)" : "")
    }
}
