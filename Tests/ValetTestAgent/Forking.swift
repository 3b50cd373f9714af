// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Valet
import ValetCForkSupport
import ValetKeychainModel
import ValetKeychainServices

/// Uses the keychain in a child that was forked and never calls `exec`.
enum Forking {
    private static let prefix = Mutex("")

    /// Starts the child; the parent goes on and, once the child has ended, says `child STATUS`.
    static func start(prefix: String) {
        Self.prefix.withLock { $0 = prefix }
        let thread = Thread {
            let status = run_in_child(0) { Forking.work() }
            Channel.answer("child \(status)")
        }
        thread.start()
    }

    /// 0: all is well, 1: something is wrong, 2: the refusal of a fork in the middle of a call.
    private static func work() -> Int32 {
        let prefix = prefix.withLock { $0 }
        Channel.answer("child started")
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
