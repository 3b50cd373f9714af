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
