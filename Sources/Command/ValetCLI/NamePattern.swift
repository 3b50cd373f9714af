// SPDX-License-Identifier: Apache-2.0

/// What `list` and `search` compare names with: a substring, or a pattern for the whole name.
struct NamePattern: Hashable, Sendable {
    private let characters: [Character]
    private let isPart: Bool

    /// `*` stands for any text, `?` for any character. Text without them is a substring.
    init(_ text: String) {
        self.init(text, isPart: !text.contains("*") && !text.contains("?"))
    }

    /// - Parameter isPart: Whether `text` is a substring of the names that match it.
    init(_ text: String, isPart: Bool) {
        characters = Array(text.lowercased())
        self.isPart = isPart
    }

    func matches(_ item: ListedItem) -> Bool {
        matches(item.name) || matches(item.owner.name) || item.desktopLabel.map(matches) == true
    }

    func matches(_ text: String) -> Bool {
        let text = Array(text.lowercased())
        guard isPart else { return matchesAll(text) }
        guard text.count >= characters.count else { return false }
        return (0...(text.count - characters.count)).contains { start in
            text[start..<(start + characters.count)].elementsEqual(characters)
        }
    }

    /// Backtracks only to the last star, so that no pattern takes long.
    private func matchesAll(_ text: [Character]) -> Bool {
        var (position, index) = (0, 0)
        var star: (index: Int, position: Int)?
        while position < text.count {
            if index < characters.count, characters[index] == "*" {
                star = (index, position)
                index += 1
            } else if index < characters.count,
                characters[index] == "?" || characters[index] == text[position]
            {
                (index, position) = (index + 1, position + 1)
            } else if let last = star {
                star = (last.index, last.position + 1)
                (index, position) = (last.index + 1, last.position + 1)
            } else {
                return false
            }
        }
        return characters[index...].allSatisfy { $0 == "*" }
    }
}
