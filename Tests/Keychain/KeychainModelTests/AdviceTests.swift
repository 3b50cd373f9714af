// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetKeychainModel

@Suite struct `A hint` {
    private static let calls: [Advice] = AdvisedCall.allCases.flatMap { call in
        [
            .call(call), .call(call, purpose: "first"), .call(call, alternative: "wait"),
            .call(call, purpose: "first", alternative: "wait"),
        ]
    }

    private func failure(_ advice: Advice) -> KeychainFailure {
        KeychainFailure(.locked, during: "read items", advice: advice)
    }

    @Test(arguments: calls)
    func `A hint names Swift's calls in Swift alone`(_ advice: Advice) throws {
        let failure = failure(advice)
        #expect(try #require(failure.hint).contains("`ValetKeychain."))
        let inC = try #require(failure.hint(naming: { _ in "valet_call" }))
        #expect(inC.hasPrefix("call `valet_call`") && !inC.contains("ValetKeychain"))
        #expect(failure.commandHint?.contains("call `") != true)
    }

    @Test(
        arguments: [
            (Advice.call(.unlock), nil), (.call(.unlock, purpose: "first"), nil),
            (.call(.configure, purpose: "first", alternative: "wait"), "wait"),
            (.text("run `valet unlock`"), "run `valet unlock`"),
        ] as [(Advice, String?)])
    func `A hint for an interface without the call is the alternative`(
        _ advice: Advice, _ expected: String?
    ) {
        #expect(failure(advice).commandHint == expected)
    }

    @Test func `A hint joins call, purpose and alternative`() {
        let advice = Advice.call(.configure, purpose: "first", alternative: "mount /proc")
        #expect(
            failure(advice).hint == "call `ValetKeychain.configure` first, or mount /proc")
    }

    @Test func `A hint of plain words is the same everywhere`() {
        let failure = KeychainFailure(.damaged, during: "read items", hint: "run `valet doctor`")
        #expect(failure.hint == "run `valet doctor`")
        #expect(failure.hint(naming: { _ in "valet_call" }) == failure.hint)
        #expect(failure.commandHint == failure.hint)
    }
}
