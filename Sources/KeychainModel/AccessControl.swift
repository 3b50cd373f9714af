// SPDX-License-Identifier: Apache-2.0

/// What reading an item demands of a person, and when it may be read (`kSecAttrAccessControl`;
/// spec/secitem.md §10).
///
/// Two are equal when they mean the same, however they were spelled: ``init(_:_:)`` brings the
/// constraints into one form.
package struct AccessControl: Hashable, Sendable {
    /// What a person has to prove: the bits of spec/secitem.md §10.1.
    package struct Constraints: OptionSet, Hashable, Sendable {
        /// The bits, as `SecAccessControlCreateFlags` and docs/FORMAT.md §5.4 have them.
        package let rawValue: UInt32

        /// The constraints whose bits are set.
        package init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// A fingerprint or the passcode.
        package static let userPresence = Constraints(rawValue: 1 << 0)
        /// Any finger that is enrolled when the item is read.
        package static let biometryAny = Constraints(rawValue: 1 << 1)
        /// A finger, while those are enrolled that were when the item was added.
        package static let biometryCurrentSet = Constraints(rawValue: 1 << 3)
        /// The keychain's passcode.
        package static let devicePasscode = Constraints(rawValue: 1 << 4)
        /// Another device of the person, which Linux does not know.
        package static let companion = Constraints(rawValue: 1 << 5)
        /// One of the constraints suffices.
        package static let or = Constraints(rawValue: 1 << 14)
        /// All constraints have to be met.
        package static let and = Constraints(rawValue: 1 << 15)
        /// The constraints are about the use of a private key.
        package static let privateKeyUsage = Constraints(rawValue: 1 << 30)
        /// The application adds a secret of its own, which is needed beside all others.
        package static let applicationPassword = Constraints(rawValue: 1 << 31)

        /// Either of the two that ask for a finger.
        package static let biometry: Constraints = [.biometryAny, .biometryCurrentSet]
        /// Those that are met by a person, each on its own.
        package static let single: Constraints = [
            .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion,
        ]
        static let known: Constraints = single.union([
            .or, .and, .privateKeyUsage, .applicationPassword,
        ])
    }

    /// Why constraints cannot be put together (errSecParam; spec/secitem.md §10.2).
    package enum Contradiction: Error, Hashable, Sendable {
        /// `or` and `and` at once.
        case orWithAnd
        /// Any finger, and those of the current set.
        case twoKindsOfBiometry
        /// `userPresence`, which is a choice already, beside another constraint.
        case userPresenceWithOthers
    }

    /// When the item may be read at all.
    package let protectionClass: ProtectionClass
    /// In normal form: no unknown bits; `or` or `and` only, and always, with two single ones.
    package let constraints: Constraints
    /// Whether this names a class and nothing else, as items without an access control have it:
    /// such a one is never equal to one that was made (spec/secitem.md §3.4).
    package let isPlain: Bool
    /// What the fingers were that were enrolled when the item was added: set in stored items with
    /// `biometryCurrentSet`, and nowhere else. At most 255 bytes, compared byte by byte.
    package private(set) var enrolment: [UInt8]?

    /// The access control of items that have none but their class.
    package init(plain protectionClass: ProtectionClass) {
        self.protectionClass = protectionClass
        constraints = []
        isPlain = true
    }

    /// What somebody asks for, in normal form.
    ///
    /// - Throws: ``Contradiction``.
    package init(
        _ protectionClass: ProtectionClass, _ given: Constraints
    ) throws(Contradiction) {
        guard !given.isSuperset(of: [.or, .and]) else { throw .orWithAnd }
        guard !given.isSuperset(of: .biometry) else { throw .twoKindsOfBiometry }
        let others = given.subtracting([.userPresence, .privateKeyUsage, .applicationPassword])
        guard !given.contains(.userPresence) || others.isDisjoint(with: .known) else {
            throw .userPresenceWithOthers
        }
        self.protectionClass = protectionClass
        isPlain = false
        constraints = given.intersection(.known).withOneJunction
    }

    /// The same, for the fingers that are enrolled now; what is not about the current set is not
    /// changed.
    package func bound(to enrolment: [UInt8]?) -> AccessControl {
        guard constraints.contains(.biometryCurrentSet) else { return self }
        var bound = self
        bound.enrolment = enrolment
        return bound
    }

    /// As it was before it was bound, which is how applications see it.
    package var unbound: AccessControl { bound(to: nil) }
}

extension AccessControl.Constraints {
    /// `and` where two have to be joined and nothing says how; neither where there is nothing to
    /// join.
    fileprivate var withOneJunction: Self {
        let count = intersection(.single).rawValue.nonzeroBitCount
        guard count > 1 else { return subtracting([.or, .and]) }
        return contains(.or) ? self : union(.and)
    }
}
