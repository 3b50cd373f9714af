// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import Testing
import ValetSystemSupport

@testable import ValetSystem

@Suite struct `A parallel map` {
    @Test(arguments: [0, 1, 2, 3, 500]) func `A parallel map keeps the order of its pieces`(
        count: Int
    ) {
        let map = ParallelMap<Int, Int> { $0 * $0 }
        for number in 0..<count { map.add(number) }
        #expect(map.finish() == (0..<count).map { $0 * $0 })
    }

    @Test func `A parallel map uses a second thread`() {
        let threads = Mutex<Set<UInt>>([])
        let map = ParallelMap<Int, Void> { _ in
            _ = threads.withLock { $0.insert(UInt(pthread_self())) }
        }
        let deadline = Deadline(after: .seconds(30))
        repeat { map.add(0) } while threads.withLock { $0.count } < 2 && !deadline.hasPassed
        _ = map.finish()
        #expect(threads.withLock { $0.count } >= 2)
    }

    @Test func `A parallel map does not wait for a thread that stands still`() {
        let caller = UInt(pthread_self())
        let begun = Mutex(false)
        let released = Mutex(false)
        let map = ParallelMap<Int, Int> { number in
            guard UInt(pthread_self()) != caller, !begun.withLock({ $0 }) else { return number }
            begun.withLock { $0 = true }
            let deadline = Deadline(after: .seconds(60))
            while !released.withLock({ $0 }), deadline.sleep(atMost: 1_000_000) {}
            return -1
        }
        let deadline = Deadline(after: .seconds(30))
        var count = 0
        while !begun.withLock({ $0 }), !deadline.hasPassed {
            map.add(count)
            count += 1
        }
        #expect(begun.withLock { $0 })
        #expect(map.finish() == Array(0..<count))
        released.withLock { $0 = true }
    }
}
