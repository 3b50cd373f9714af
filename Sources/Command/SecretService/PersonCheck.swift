// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainServices
internal import ValetSystem

/// Finds out whether a person can be asked. A thread of its own looks, because a folder of `$PATH`
/// may be in a file system that does not answer.
enum PersonCheck {
    /// How long a call waits for the look.
    private static let patience = Duration.seconds(1)

    private final class Look: Sendable {
        let bell: Bell
        let reason = Lock<String?>(nil)

        init() throws(SystemError) { bell = try Bell() }
    }

    private enum State {
        case unknown
        case looking(Look)
        /// What was found once is not looked for again.
        case found
    }

    private static let state = Lock(State.unknown)

    /// Why nobody can be asked; nil if somebody can, or if that is not known in time: then the
    /// question itself finds out.
    static func obstacle() -> String? {
        guard let look = begin(), look.bell.wait(until: Deadline(after: patience)) else {
            return nil
        }
        // For other calls that wait.
        look.bell.ring()
        return look.reason.withLock { $0 }
    }

    /// The look that is under way; nil if none is needed or possible.
    private static func begin() -> Look? {
        state.withLock { state in
            switch state {
            case .found: return nil
            case .looking(let look): return look
            case .unknown: break
            }
            guard let look = try? Look(), (try? BackgroundThread.start { end(look) }) != nil else {
                return nil
            }
            state = .looking(look)
            return look
        }
    }

    private static func end(_ look: Look) {
        let reason = DesktopQuestion.obstacle()
        look.reason.withLock { $0 = reason }
        state.withLock { $0 = reason == nil ? .found : .unknown }
        look.bell.ring()
    }
}
