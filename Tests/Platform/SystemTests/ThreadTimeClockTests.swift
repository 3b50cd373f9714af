// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSystemSupport

@testable import ValetSystem

@Suite struct `The clock of a thread's processor time` {
    /// Passes as if another program had the processor: this thread waits, and works little.
    private func waiting(_ clock: some Clock<Duration>) -> Duration {
        let start = clock.now
        let deadline = Deadline(after: .milliseconds(500))
        while deadline.sleep(atMost: 50_000_000) {}
        return start.duration(to: clock.now)
    }

    @Test func `A thread's clock stands still while the thread waits`() {
        #expect(waiting(ThreadTimeClock()) < .milliseconds(250))
        #expect(waiting(ContinuousClock()) >= .milliseconds(500))
    }

    @Test func `A thread's clock runs while the thread works`() {
        let clock = ThreadTimeClock()
        let start = clock.now
        let deadline = Deadline(after: .seconds(20))
        while clock.now < start.advanced(by: .milliseconds(5)), !deadline.hasPassed {}
        #expect(start.duration(to: clock.now) >= .milliseconds(5))
        #expect(clock.minimumResolution > .zero)
    }
}
