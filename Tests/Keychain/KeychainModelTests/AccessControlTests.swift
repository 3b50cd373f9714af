// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel

/// spec/secitem.md §10.1–§10.3.
@Suite struct `An access control` {
    typealias Constraints = AccessControl.Constraints
    typealias Factors = AccessControl.Factors

    private static let presenceWithOthers =
        "user presence is a choice already, and stands alone"
    static let contradictions: [(Constraints, String)] = [
        ([.or, .and], "`or` and `and` cannot be combined"),
        ([.or, .and, .biometryAny, .devicePasscode], "`or` and `and` cannot be combined"),
        (
            [.biometryAny, .biometryCurrentSet],
            "any finger and the current fingers cannot be combined"
        ),
        ([.userPresence, .or], presenceWithOthers),
        ([.userPresence, .and], presenceWithOthers),
        ([.userPresence, .devicePasscode], presenceWithOthers),
        ([.userPresence, .biometryAny], presenceWithOthers),
        ([.userPresence, .biometryCurrentSet], presenceWithOthers),
        ([.userPresence, .companion], presenceWithOthers),
    ]

    @Test(arguments: contradictions)
    func `An access control refuses what contradicts itself`(
        _ given: Constraints, _ expected: String
    ) {
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try AccessControl(.whenUnlocked, given)
        }
        #expect(failure?.code == .invalidRequest)
        #expect(failure?.message == expected)
    }

    static let forms: [(given: Constraints, normal: Constraints)] = [
        ([], []),
        (.or, []),
        (.and, []),
        (Constraints(rawValue: 1 << 7), []),
        ([.or, .devicePasscode], .devicePasscode),
        ([.and, .biometryAny], .biometryAny),
        ([.biometryAny, .devicePasscode], [.biometryAny, .devicePasscode, .and]),
        ([.biometryAny, .devicePasscode, .or], [.biometryAny, .devicePasscode, .or]),
        (
            [.biometryCurrentSet, .devicePasscode, .companion],
            [.biometryCurrentSet, .devicePasscode, .companion, .and]
        ),
        ([.userPresence, .privateKeyUsage], [.userPresence, .privateKeyUsage]),
        ([.userPresence, .applicationPassword], [.userPresence, .applicationPassword]),
    ]

    @Test(arguments: forms)
    func `An access control has one form`(_ given: Constraints, _ normal: Constraints) throws {
        let made = try AccessControl(.whenUnlocked, given)
        #expect(made.constraints == normal)
        #expect(try AccessControl(.whenUnlocked, normal) == made)
        #expect(made.hashValue == (try AccessControl(.whenUnlocked, normal)).hashValue)
    }

    @Test func `An access control differs by class, constraints and whether it was made`() throws {
        let one = try AccessControl(.whenUnlocked, .devicePasscode)
        #expect(try one != AccessControl(.whenUnlockedThisDeviceOnly, .devicePasscode))
        #expect(try one != AccessControl(.whenUnlocked, .userPresence))
        #expect(try AccessControl(.whenUnlocked, []) != AccessControl(plain: .whenUnlocked))
    }

    static let demands: [(given: Constraints, ways: [Factors])] = [
        ([], [[]]),
        (.privateKeyUsage, [[]]),
        (.userPresence, [.fingerprint, .passcode]),
        (.biometryAny, [.fingerprint]),
        (.biometryCurrentSet, [.fingerprint]),
        (.devicePasscode, [.passcode]),
        ([.biometryAny, .devicePasscode], [[.fingerprint, .passcode]]),
        ([.biometryCurrentSet, .devicePasscode, .and], [[.fingerprint, .passcode]]),
        ([.biometryCurrentSet, .devicePasscode, .or], [.fingerprint, .passcode]),
        (.companion, []),
        ([.companion, .devicePasscode], []),
        ([.companion, .devicePasscode, .or], [.passcode]),
        ([.companion, .biometryAny, .or], [.fingerprint]),
        (.applicationPassword, [[]]),
        ([.applicationPassword, .devicePasscode], [.passcode]),
        ([.applicationPassword, .biometryAny, .or, .devicePasscode], [.fingerprint, .passcode]),
        ([.applicationPassword, .companion], []),
    ]

    @Test(arguments: demands)
    func `An access control demands exactly what it says`(_ given: Constraints, _ ways: [Factors])
        throws
    {
        let demand = try AccessControl(.whenUnlocked, given).demand
        #expect(demand.ways == ways)
        for factors: Factors in [[], .passcode, .fingerprint, [.passcode, .fingerprint]] {
            let isMet = ways.contains { factors.isSuperset(of: $0) }
            #expect(demand.isMet(by: factors) == isMet)
        }
        #expect(demand.isImpossible == ways.isEmpty)
        #expect(demand.isNothing == ways.contains([]))
    }

    // Promise: 6.3
    /// spec/secitem.md §10.7.
    @Test func `An access control counts no finger of another enrolment than its own`() throws {
        let bound = try AccessControl(.whenUnlocked, .biometryCurrentSet).bound(to: [1, 2])
        #expect(!bound.demand(enrolled: [[1, 2]]).isImpossible)
        #expect(bound.demand(enrolled: [[1, 3]]).isImpossible)
        #expect(!bound.demand(enrolled: []).isImpossible)
        let choice = try AccessControl(
            .whenUnlocked, [.biometryCurrentSet, .devicePasscode, .or]
        ).bound(to: [1])
        #expect(choice.demand(enrolled: [[2]]).ways == [.passcode])
        let any = try AccessControl(.whenUnlocked, .biometryAny).bound(to: [1])
        #expect(any.enrolment == nil)
        #expect(!any.demand(enrolled: [[2]]).isImpossible)
        #expect(bound.unbound.enrolment == nil)
    }

    // Promise: 15.3
    /// docs/FORMAT.md §5.4: the first 32 bytes of a long enrolment name the reader.
    @Test func `An access control is bound to one reader, whatever others say`() throws {
        func enrolment(_ reader: UInt8, _ fingers: UInt8) -> [UInt8] {
            [UInt8](repeating: reader, count: 32) + [fingers]
        }
        let (own, other) = (enrolment(1, 7), enrolment(2, 7))
        let bound = try AccessControl(.whenUnlocked, .biometryCurrentSet).bound(to: own)
        let away: [[[UInt8]]] = [[other], [other, enrolment(2, 8)], [[1]], []]
        for enrolled in away + [[own], [other, own]] {
            #expect(!bound.demand(enrolled: enrolled).isImpossible, "\(enrolled)")
        }
        for enrolled in [[enrolment(1, 8)], [other, enrolment(1, 8)]] {
            #expect(bound.demand(enrolled: enrolled).isImpossible, "\(enrolled)")
        }
        // Of two readers of one name one may have the fingers.
        #expect(!bound.demand(enrolled: [enrolment(1, 8), own]).isImpossible)
    }

    @Test(arguments: forms)
    func `An access control is read as it was written`(_ given: Constraints, _ normal: Constraints)
        throws
    {
        for protectionClass in ProtectionClass.allCases {
            let made = try AccessControl(protectionClass, given)
            #expect(AccessControl(encoded: made.encoded) == made)
            let bound = made.bound(to: Array(repeating: 7, count: 255))
            #expect(AccessControl(encoded: bound.encoded) == bound)
        }
    }

    /// docs/FORMAT.md §5.4.
    @Test func `An access control has these bytes`() throws {
        let made = try AccessControl(
            .whenPasscodeSetThisDeviceOnly, [.biometryCurrentSet, .devicePasscode, .or])
        #expect(made.encoded == [1, 7, 0, 0, 0x40, 0x18, 0])
        #expect(made.bound(to: [9, 8]).encoded == [1, 7, 0, 0, 0x40, 0x18, 2, 9, 8])
    }

    static let malformed: [[UInt8]] = [
        [], [1, 7, 0, 0, 0, 0x10], [2, 7, 0, 0, 0, 0x10, 0], [1, 0, 0, 0, 0, 0x10, 0],
        [1, 8, 0, 0, 0, 0x10, 0], [1, 7, 0, 0, 0, 0x10, 1], [1, 7, 0, 0, 0, 0x10, 0, 0],
        // Not in normal form: unknown bits, an `or` with nothing to choose, `and` left out.
        [1, 7, 0, 0, 0, 0x80, 0], [1, 7, 0, 0, 0x40, 0x10, 0], [1, 7, 0, 0, 0, 0x12, 0],
        // Both kinds of biometry; an enrolment that nothing is bound to.
        [1, 7, 0, 0, 0x80, 0x0A, 0], [1, 7, 0, 0, 0, 0x02, 1, 9],
    ]

    @Test(arguments: malformed)
    func `An access control is nothing else`(_ bytes: [UInt8]) {
        #expect(AccessControl(encoded: bytes) == nil)
    }

    @Test func `An access control every change of a byte is refused or another one`() throws {
        let bytes = try AccessControl(.whenUnlocked, .biometryCurrentSet).bound(to: [1, 2]).encoded
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << UInt8(bit)
                guard let parsed = AccessControl(encoded: changed) else { continue }
                #expect(parsed.encoded == changed)
            }
        }
    }

    static let descriptions: [(Constraints, String)] = [
        (
            .userPresence,
            "<SecAccessControlRef: akpu;od(cpo(DeviceOwnerAuthentication));odel(true);oe(true)>"
        ),
        ([], "<SecAccessControlRef: akpu;dacl(true)>"),
        (.applicationPassword, "<SecAccessControlRef: akpu;prp(true);dacl(true)>"),
        (.devicePasscode, "<SecAccessControlRef: akpu;od(cup(true));odel(true);oe(true)>"),
        (.companion, "<SecAccessControlRef: akpu;od(cwtch);odel(true);oe(true)>"),
        (
            [.companion, .devicePasscode, .or],
            "<SecAccessControlRef: akpu;od(ckon(pkofn(1)cwtchcup(true)));odel(true);oe(true)>"
        ),
        (
            .biometryAny,
            "<SecAccessControlRef: akpu;od(cbio(pbioc(<>)));odel(true);oe(true)>"
        ),
        (
            .biometryCurrentSet,
            "<SecAccessControlRef: akpu;od(cbio(pbioc(<>)pbioh(<>)));odel(true);oe(true)>"
        ),
        (
            [.biometryAny, .devicePasscode],
            "<SecAccessControlRef: akpu;od(ckon(pkofn(2)cbio(pbioc(<>))cup(true)));odel(true);"
                + "oe(true)>"
        ),
        (
            [.privateKeyUsage, .devicePasscode],
            "<SecAccessControlRef: akpu;oa(true);ock(cup(true));odel(true);okd(cup(true));"
                + "osgn(cup(true))>"
        ),
        (
            .privateKeyUsage,
            "<SecAccessControlRef: akpu;oa(true);ock(true);odel(true);okd(true);osgn(true)>"
        ),
    ]

    @Test(arguments: descriptions)
    func `An access control describes itself`(_ given: Constraints, _ text: String) throws {
        #expect(try "\(AccessControl(.whenPasscodeSetThisDeviceOnly, given))" == text)
    }

    @Test func `An access control names the fingers that it is bound to`() throws {
        let bound = try AccessControl(.whenUnlocked, .biometryCurrentSet).bound(to: [0x0A, 0xFF])
        #expect(
            "\(bound)"
                == "<SecAccessControlRef: ak;od(cbio(pbioc(<>)pbioh(<0aff>)));odel(true);oe(true)>")
    }

    @Test func `An access control describes a class alone`() {
        #expect("\(AccessControl(plain: .afterFirstUnlock))" == "<SecAccessControlRef: ck>")
    }
}
