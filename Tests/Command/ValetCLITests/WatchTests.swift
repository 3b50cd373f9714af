// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetCLI

/// Changes by other programs are in the scenarios `watches`.
@Suite struct `valet watch` {
    @Test func `watch begins with the state, and ends after its time`() {
        let bench = Bench.withTwoSecrets
        #expect(bench.run("watch", "--for", "1s") == .success)
        #expect(bench.console.outputText == "2001-01-01T00:00:00Z  noPasscode\n")
        #expect(bench.run("watch", "--for", "1s", "--json") == .success)
        #expect(
            bench.console.outputText
                == #"{"time":"2001-01-01T00:00:00Z","event":"state","state":"noPasscode"}"# + "\n")
        #expect(bench.console.notes.isEmpty)
    }

    @Test func `watch makes no keychain`() {
        let bench = Bench()
        #expect(bench.run("watch", "--for", "1s") == .success)
        #expect(bench.console.outputText == "2001-01-01T00:00:00Z  absent\n")
    }

    @Test(arguments: [["--for", "0s"], ["--count", "-1"], ["--all", "--cloud"], ["KEY"]])
    func `watch refuses what it does not understand`(_ words: [String]) {
        #expect(Bench().run(["watch"] + words) == .usage)
    }
}
