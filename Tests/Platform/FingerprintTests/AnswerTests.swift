// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSystem

@testable import ValetUserPresence

@Suite struct `An answer of fprintd` {
    @Test(
        arguments: [
            ("verify-match", true, .match), ("verify-no-match", true, .noMatch),
            ("verify-retry-scan", false, .retry(.unclear, goesOn: true)),
            ("verify-swipe-too-short", false, .retry(.tooShort, goesOn: true)),
            ("verify-finger-not-centered", false, .retry(.notCentered, goesOn: true)),
            ("verify-remove-and-retry", true, .retry(.removeFinger, goesOn: false)),
            ("verify-disconnected", true, .unplugged), ("verify-unknown-error", true, .failed),
            ("verify-disconnected", false, .unplugged),
        ] as [(String, Bool, VerifyStatus)])
    func `An answer of fprintd is parsed as listed`(
        _ result: String, _ isOver: Bool, _ expected: VerifyStatus
    ) throws {
        #expect(try VerifyStatus("VerifyStatus", [.text(result), .flag(isOver)]) == expected)
        #expect(try VerifyStatus("VerifyFingerSelected", [.text(result), .flag(isOver)]) == nil)
    }

    // Promise: 6.2
    @Test(
        arguments: [
            [], [.text("verify-match")], [.text("verify-match"), .number(1)],
            [.text("verify-match"), .flag(true), .flag(true)],
            [.flag(true), .text("verify-match")],
            [.text("verify-match"), .flag(false)], [.text("verify-no-match"), .flag(false)],
            [.text("Verify-Match"), .flag(true)], [.text("verify-match "), .flag(true)],
            [.text(""), .flag(true)], [.list([.text("verify-match")]), .flag(true)],
        ] as [[BusValue]])
    func `An unknown answer of fprintd is never guessed`(_ arguments: [BusValue]) {
        let error = #expect(throws: SystemError.self) {
            _ = try VerifyStatus("VerifyStatus", arguments)
        }
        #expect(error?.code == .malformed)
    }

    @Test(arguments: SystemError.Code.ofFingers)
    func `An invalid answer of fprintd is reported in one line`(_ code: SystemError.Code) {
        let text = SystemError.finger(code).description
        #expect(text.hasPrefix("could not verify the finger: \(code.reason)"))
        #expect(!text.contains("\n") && !text.hasSuffix("."))
        let equal = SystemError.Code.ofFingers.filter { $0.reason == code.reason }
        #expect(equal == [code])
    }
}

@Suite struct `The state of enrolment` {
    private let state = EnrolmentState(
        reader: "Reader", fingers: ["right-thumb", "left-index-finger"])

    @Test func `The state of an enrolment does not depend on the order of fingers`() {
        #expect(
            state
                == EnrolmentState(
                    reader: "Reader", fingers: ["left-index-finger", "right-thumb", "right-thumb"]))
    }

    @Test(
        arguments: [
            ("Reader", ["right-thumb"]), ("Reader", []), ("reader", []),
            ("Reader", ["right-thumb", "left-index-finger", "left-thumb"]),
            ("Reader", ["right-thumb", "left-middle-finger"]),
            ("Reader2", ["right-thumb", "left-index-finger"]),
            ("Readerleft-index-finger", ["right-thumb"]),
            ("Reader", ["left-index-fingerright-thumb"]),
        ] as [(String, [String])])
    func `The state of an enrolment changes with each finger and the reader`(
        _ reader: String, _ fingers: [String]
    ) {
        #expect(state != EnrolmentState(reader: reader, fingers: fingers))
    }

    /// `hashlib.blake2b(LP(...), digest_size=32)` of Python.
    @Test func `The state of an enrolment has fixed bytes`() {
        let text = state.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let reader = "0a841b869141db94e87767c1743b32a36e4333974780f0a8778ed89e7759f88f"
        let fingers = "d01dc2e03096f6ba2f382659b4f7d7d2425b77e622046ed18f2b3c51bfbe89b6"
        #expect(text == reader + fingers)
    }
}
