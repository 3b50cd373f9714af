// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetCLI

@Suite struct `A duration on the command line` {
    @Test(
        arguments: [
            ("90s", 90), ("15m", 900), ("8h", 28_800), ("2d", 172_800), ("1h30m", 5400),
            ("1d2h3m4s", 93_784), ("007s", 7), ("366d", 31_622_400), ("1s", 1),
        ] as [(String, Int)])
    func `A duration on the command line has units, the largest first`(
        _ text: String, _ seconds: Int
    ) {
        #expect(DurationText.duration(text) == .seconds(seconds))
    }

    @Test(
        arguments: [
            "", "s", "90", "1.5h", "-5m", "+5m", "5 m", "5M", "30m1h", "5m5m", "1h30", "0s",
            "0d0h", "367d", "366d1s", "99999999999999999999s", "9223372036854775807d", "٣m",
            "5m\n", "1w",
        ])
    func `A duration in any other form is refused`(_ text: String) {
        #expect(DurationText.duration(text) == nil)
    }

    @Test(arguments: [
        (90, "1m30s"), (900, "15m"), (172_800, "2d"), (93_784, "1d2h3m4s"), (0, "0s"),
    ])
    func `A duration is shown in the form in which it is read`(_ seconds: Int, _ text: String) {
        #expect(DurationText.text(.seconds(seconds)) == text)
    }

    @Test func `The error for a wrong duration shows the accepted form`() {
        let bench = Bench()
        #expect(bench.run("unlock", "--for", "soon") == .usage)
        #expect(
            bench.console.notes == [
                "valet: error: '--for' does not take 'soon'",
                "valet: hint: it takes whole numbers with s, m, h or d, the largest first: "
                    + "90s, 15m, 1h30m, up to 366d",
            ])
    }
}
