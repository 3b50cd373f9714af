// SPDX-License-Identifier: Apache-2.0

/// Finds what somebody meant to write.
enum Suggestion {
    /// The candidate that is nearest to `word`, if one is near: the first of equals.
    static func nearest(to word: String, among candidates: [String]) -> String? {
        // A key pasted as a verb may be long; nothing that long is near a word of ours.
        guard word.utf8.count <= 64 else { return nil }
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let isStart = word.count >= 3 && candidate.hasPrefix(word)
            let distance = isStart ? 0 : distance(Array(word), Array(candidate))
            if distance <= max(1, candidate.count / 3), distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.candidate
    }

    /// The number of characters to insert, drop, replace or swap with their neighbour.
    static func distance(_ first: [Character], _ second: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...second.count)
        for row in first.indices {
            var current = [row + 1]
            for column in second.indices {
                let isEqual = first[row] == second[column]
                var cost = min(
                    last[column] + (isEqual ? 0 : 1), last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, first[row] == second[column - 1],
                    first[row - 1] == second[column]
                {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[second.count]
    }
}
