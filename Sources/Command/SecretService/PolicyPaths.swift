// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// Where the paths of a policy lead. Any of them may be in a file system that does not answer: that
/// path then keeps what was known of it, and a thread, and delays the others for a moment only.
final class PolicyPaths: Sendable {
    struct Place: Sendable {
        /// The file that the path leads to; nil if it leads nowhere.
        var identity: FileIdentity?
        /// The path without symbolic links.
        var resolved: String?
        /// False if the path could not be followed now.
        var isCurrent = true
    }

    private struct State {
        var places: [String: Place] = [:]
        /// Paths that a thread follows now.
        var followed: Set<String> = []
        var threadCount = 0
    }

    /// The paths of one question, which threads take one by one.
    private final class Question: Sendable {
        /// In any order.
        let rest: Lock<(waiting: [String], missing: Int)>
        let bell: Bell

        init(_ paths: [String]) throws(SystemError) {
            rest = Lock((paths, paths.count))
            bell = try Bell()
        }
    }

    private static let maximalThreadCount = 32
    /// How long a path may take before others are followed by further threads, how many of these
    /// begin at once, and how often that happens.
    private static let (pause, furtherThreadCount, patience) = (Duration.milliseconds(20), 8, 3)

    /// One question at a time: what is followed when it begins has kept an earlier one waiting.
    private let turn = Lock(())
    private let state = Lock(State())
    private let follow: @Sendable (String) throws(SystemError) -> Place

    /// - Parameter follow: Follows a path, and may not return. Throws if it cannot now.
    init(
        following follow: @escaping @Sendable (String) throws(SystemError) -> Place = {
            (path) throws(SystemError) in
            Place(
                identity: try GivenFile.identity(of: path), resolved: FilePath.resolved(path))
        }
    ) {
        self.follow = follow
    }

    /// Where these paths lead now. Waits less than 100 ms for paths that do not answer.
    func places(of paths: Set<String>) -> [String: Place] {
        turn.withLock { _ in placesInTurn(of: paths) }
    }

    private func placesInTurn(of paths: Set<String>) -> [String: Place] {
        let wanted = state.withLock { state in
            state.places = state.places.filter { paths.contains($0.key) }
            return paths.subtracting(state.followed)
        }
        var found: [String: Place] = [:]
        if !wanted.isEmpty, let question = try? Question(Array(wanted)) {
            wait(for: question)
            let late = state.withLock { $0.followed }
            let waiting = question.rest.withLock { rest in
                let waiting = rest.waiting
                rest.waiting = []
                return Set(waiting)
            }
            found = state.withLock { state in
                state.places.filter { path, _ in
                    wanted.contains(path) && !late.contains(path) && !waiting.contains(path)
                }
            }
        }
        let known = state.withLock { $0.places }
        for path in paths where found[path] == nil {
            found[path] = known[path]
            found[path]?.isCurrent = false
        }
        return found
    }

    private func wait(for question: Question) {
        start(1, for: question)
        var (missing, idle) = (question.rest.withLock { $0.missing }, 0)
        while missing > 0, idle < Self.patience {
            _ = question.bell.wait(until: Deadline(after: Self.pause))
            let left = question.rest.withLock { $0.missing }
            idle = left < missing ? 0 : idle + 1
            if left == missing { start(Self.furtherThreadCount, for: question) }
            missing = left
        }
    }

    private func start(_ count: Int, for question: Question) {
        for _ in 0..<count {
            let mayStart = state.withLock { state in
                guard state.threadCount < Self.maximalThreadCount else { return false }
                state.threadCount += 1
                return true
            }
            guard mayStart else { return }
            do {
                try BackgroundThread.start { self.answer(question) }
            } catch {
                state.withLock { $0.threadCount -= 1 }
            }
        }
    }

    private func answer(_ question: Question) {
        while let path = question.rest.withLock({ $0.waiting.popLast() }) {
            let isFree = state.withLock { $0.followed.insert(path).inserted }
            if isFree {
                let place = try? follow(path)
                state.withLock { state in
                    if let place {
                        state.places[path] = place
                    } else {
                        // What was known of it stays.
                        state.places[path, default: Place()].isCurrent = false
                    }
                    state.followed.remove(path)
                }
            }
            let isLast = question.rest.withLock { rest in
                rest.missing -= 1
                return rest.missing == 0
            }
            if isLast { question.bell.ring() }
        }
        state.withLock { $0.threadCount -= 1 }
    }
}
