// SPDX-License-Identifier: Apache-2.0

// How many columns of a terminal text takes, and how it is padded and shortened. Lists and help
// use it.

internal import ValetCLinux

extension String {
    /// The number of columns that the text takes at a terminal.
    var width: Int {
        // Looking at characters takes long for a long list.
        if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return utf8.count }
        return reduce(0) { $0 + $1.columnCount }
    }

    /// The text with trailing spaces, so that it takes at least `count` columns.
    func padded(to count: Int) -> String {
        self + String(repeating: " ", count: max(0, count - width))
    }

    /// The text in at most `count` columns: its start and its end, with "…" between them.
    func shortened(to count: Int) -> String {
        guard width > count, count > 0 else { return self }
        let room = count - 1
        let tail = suffix(columns: room / 3)
        return prefix(columns: room - tail.width) + "…" + tail
    }

    private func prefix(columns count: Int) -> String {
        var (result, rest) = ("", count)
        for character in self {
            rest -= character.columnCount
            if rest < 0 { break }
            result.append(character)
        }
        return result
    }

    private func suffix(columns count: Int) -> String {
        var (result, rest) = ([Character](), count)
        for character in reversed() {
            rest -= character.columnCount
            if rest < 0 { break }
            result.append(character)
        }
        return String(result.reversed())
    }
}

extension Character {
    /// The columns of a character with all its marks: the sum of what the C library gives for each
    /// scalar. An emoji takes two columns, whatever is joined to it, and so does a flag.
    fileprivate var columnCount: Int {
        let scalars = unicodeScalars
        if let first = scalars.first, first.isPicture,
            scalars.contains(where: { [.joiner, .colouring].contains($0) })
        {
            return 2
        }
        var (count, isFirst) = (0, true)
        for scalar in unicodeScalars {
            switch scalar.value {
            case 0x1F1E6...0x1F1FF: return 2
            // A skin tone belongs to the emoji before it.
            case 0x1F3FB...0x1F3FF where !isFirst: break
            default: count += max(0, Int(valet_column_count(scalar.value)))
            }
            isFirst = false
        }
        return count
    }
}
