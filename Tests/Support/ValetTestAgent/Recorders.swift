// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Valet
import ValetKeychainModel
import ValetKeychainServices

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

/// Remembers the lock states that it is told, each watcher's in a list of its own.
final class Recorder: Sendable {
    static let shared = Recorder()

    private struct State {
        var lists: [[String]] = []
        var tasks: [Task<Void, Never>] = []
    }

    private let state = Mutex(State())

    func start() {
        let number = state.withLock { state in
            state.lists.append([])
            return state.lists.count - 1
        }
        let task = Task {
            do throws(KeychainFailure) {
                for try await change in ValetKeychain.lockStateChanges {
                    add(change.rawValue, number)
                }
                add("end", number)
            } catch {
                add(error.code.rawValue, number)
            }
        }
        state.withLock { $0.tasks.append(task) }
    }

    /// The lists, once each ends with `last`, or after 30 s.
    func seen(_ last: String) -> String {
        for _ in 0..<3000 {
            if lists.allSatisfy({ $0.last == last }) { break }
            usleep(10_000)
        }
        return lists.map { $0.joined(separator: ",") }.joined(separator: " ")
    }

    func stop() -> String {
        for task in state.withLock({ $0.tasks }) { task.cancel() }
        let lists = seen("end")
        state.withLock { $0 = State() }
        return lists
    }

    private var lists: [[String]] { state.withLock { $0.lists } }

    private func add(_ text: String, _ number: Int) {
        state.withLock { $0.lists[number].append(text) }
    }
}
