// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Valet
import ValetKeychainModel

/// Remembers what it is told of a valet's keys.
final class KeyRecorder: Sendable {
    static let shared = KeyRecorder()

    private let told = Mutex<[String]>([])

    func start(_ changes: Valet.KeyChanges) {
        Task {
            do throws(KeychainFailure) {
                for try await change in changes { add(Self.text(change)) }
            } catch {
                add(error.code.rawValue)
            }
        }
    }

    /// What was told, once `last` was among it, or after 30 s.
    func seen(_ last: String) -> String {
        for _ in 0..<3000 where !told.withLock({ $0.contains(last) }) { usleep(10_000) }
        return told.withLock { $0.joined(separator: " ") }
    }

    private func add(_ text: String) { told.withLock { $0.append(text) } }

    private static func text(_ change: KeyChange) -> String {
        switch change {
        case .stored(let key): return "+\(key)"
        case .removed(let key): return "-\(key)"
        case .removedUnknown: return "-?"
        @unknown default: return "?"
        }
    }
}
