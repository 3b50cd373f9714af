// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Valet
import ValetCForkSupport
import ValetKeychainModel
import ValetKeychainServices

/// Uses the keychain in a child that was forked and never calls `exec`.
enum Forking {
    private static let plan = Mutex((prefix: "", threadCount: 1))
    private static let endedCount = Atomic<Int>(0)
    private static let worst = Atomic<Int32>(0)

    /// Starts the child, which works on so many threads; the parent goes on and, once the child has
    /// ended, says `child STATUS`.
    static func start(prefix: String, threadCount: Int = 1) {
        plan.withLock { $0 = (prefix, threadCount) }
        let thread = Thread {
            let status = run_in_child(0) { Forking.work() }
            Channel.answer("child \(status)")
        }
        thread.start()
    }

    /// Starts a child that does not use the keychain; says its process id.
    static func startIdle() {
        let thread = Thread {
            _ = run_in_child(0) {
                Channel.answer("child \(getpid())")
                while true { pause() }
            }
        }
        thread.start()
    }

    /// 0: all is well, 1: something is wrong, 2: the refusal of a fork in the middle of a call.
    private static func work() -> Int32 {
        let (prefix, threadCount) = plan.withLock { $0 }
        Channel.answer("child started")
        for number in 1..<threadCount {
            Thread {
                worst.max(use("\(prefix)-\(number)"), ordering: .relaxed)
                endedCount.add(1, ordering: .releasing)
            }.start()
        }
        worst.max(use(prefix), ordering: .relaxed)
        // An alarm ends a child that hangs.
        while endedCount.load(ordering: .acquiring) < threadCount - 1 { usleep(1000) }
        return worst.load(ordering: .relaxed)
    }

    private static func use(_ prefix: String) -> Int32 {
        do throws(KeychainError) {
            guard try Agent.valet.string(forKey: "parent") == "before" else { return 1 }
            for index in 0..<10 {
                try Agent.valet.setString("child", forKey: "\(prefix)-\(index)")
            }
            return try Agent.valet.allKeys().count >= 10 ? 0 : 1
        } catch {
            let failure = KeychainFailure.last
            let isRefusal = failure?.message.contains("forked while another thread") == true
            if !isRefusal { Channel.answer("child failed: \(error), \(failure?.message ?? "")") }
            return isRefusal ? 2 : 1
        }
    }
}
