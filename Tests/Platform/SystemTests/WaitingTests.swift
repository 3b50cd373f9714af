// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystemSupport

@testable import ValetSystem

@Suite struct `A cancellation` {
    private func isReadable(_ cancellation: Cancellation, _ milliseconds: Int32 = 0) -> Bool {
        var request = pollfd(
            fd: cancellation.descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&request, 1, milliseconds) == 1
    }

    @Test func `A cancellation stays visible`() throws {
        let cancellation = Cancellation()
        #expect(!cancellation.isCancelled && !isReadable(cancellation))
        for _ in 0..<3 {
            cancellation.cancel()
            #expect(cancellation.isCancelled && isReadable(cancellation))
        }
    }

    @Test func `A cancellation wakes a waiting thread`() throws {
        let cancellation = Cancellation()
        Thread { cancellation.cancel() }.start()
        #expect(isReadable(cancellation, 20_000))
    }
}

@Suite struct `A wait for descriptors` {
    /// More requests than the process may have descriptors: poll(2) answers EINVAL. A caller that
    /// took that for "ready" would read a descriptor that blocks, without a bound.
    @Test func `A wait that the kernel refuses ends at its deadline, with nothing ready`() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #expect(unsafe getrlimit(resource, &limit) == 0)
        limit.rlim_cur = min(limit.rlim_cur, 65536)
        #expect(unsafe setrlimit(resource, &limit) == 0)
        let unused = pollfd(fd: -1, events: Int16(POLLIN), revents: 0)
        var requests = [pollfd](repeating: unused, count: Int(limit.rlim_cur) + 1)
        let deadline = Deadline(after: .milliseconds(150))
        #expect(!Poll.wait(for: &requests, until: deadline))
        #expect(deadline.hasPassed)
    }
}
