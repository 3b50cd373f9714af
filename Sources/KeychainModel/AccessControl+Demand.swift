// SPDX-License-Identifier: Apache-2.0

extension AccessControl {
    /// What a person can show that it is them.
    package struct Factors: OptionSet, Hashable, Sendable {
        /// One bit for each.
        package let rawValue: UInt8

        /// The factors whose bits are set.
        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// The keychain's passcode.
        package static let passcode = Factors(rawValue: 1)
        /// A finger that is enrolled.
        package static let fingerprint = Factors(rawValue: 2)
    }

    /// Which factors open the item: any of these ways, each of which takes all of its factors.
    ///
    /// No way at all is a demand that nobody can meet; an empty way, one that needs nobody.
    package struct Demand: Hashable, Sendable {
        /// Each at most once; the easier ones, with fewer factors, first.
        package let ways: [Factors]

        init(_ ways: [Factors]) { self.ways = ways }

        /// Whether nobody has to be there.
        package var isNothing: Bool { ways.contains([]) }
        /// Whether nothing that a person can do is enough.
        package var isImpossible: Bool { ways.isEmpty }
        /// Whether every way takes the passcode.
        package var needsPasscode: Bool { ways.allSatisfy { $0.contains(.passcode) } }

        /// Whether `factors` are enough.
        package func isMet(by factors: Factors) -> Bool {
            ways.contains { factors.isSuperset(of: $0) }
        }

        /// The demand where no fingerprint counts.
        package var withoutFingerprint: Demand {
            Demand(ways.filter { !$0.contains(.fingerprint) })
        }
    }

    /// What has to be proved before the value is given out.
    ///
    /// A companion device is something that nobody can show here: it makes a demand impossible,
    /// unless something else may take its place. An application's password is demanded beside all
    /// of this (``takesPassword``), and has no part in it.
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

    /// Whether the value is sealed under an application's password, too (docs/FORMAT.md §5.5).
    package var takesPassword: Bool { constraints.contains(.applicationPassword) }

    /// The demand while `enrolled` are the fingers of each reader that has some.
    ///
    /// Where the reader that the item was bound to has other fingers than then, none counts any
    /// more. Of a reader that is not there nothing is known: it may come back.
    /// - Returns: What is left: nothing, if the item was bound to those fingers alone.
    package func demand(enrolled: [[UInt8]]) -> Demand {
        guard let enrolment, !enrolled.contains(enrolment),
            enrolled.contains(where: { Self.reader(of: $0) == Self.reader(of: enrolment) })
        else { return demand }
        return demand.withoutFingerprint
    }

    /// Which reader an enrolment is of: docs/FORMAT.md §5.4.
    private static func reader(of enrolment: [UInt8]) -> ArraySlice<UInt8> {
        enrolment.count > readerByteCount ? enrolment.prefix(readerByteCount) : []
    }

    private static let readerByteCount = 32
}
