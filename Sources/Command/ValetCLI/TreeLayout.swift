// SPDX-License-Identifier: Apache-2.0

/// A sorted list as a tree: owners, and below them the parts of names that slashes separate. It
/// remembers only the place of the last item, so that a list of any length can be written.
struct TreeLayout {
    private let showsApplications: Bool
    private var owner: String?
    private var folders: [String] = []

    init(showingApplications: Bool) {
        showsApplications = showingApplications
    }

    /// The lines of the next item: first those of a new owner and of new folders, then its own.
    mutating func lines(of item: ListedItem) -> String {
        var text = ""
        let title = title(item)
        if title != owner {
            (owner, folders) = (title, [])
            text += title + "\n"
        }
        // A label is a text, and has no parts.
        let names =
            item.desktopLabel == nil
            ? item.name.split(separator: "/", omittingEmptySubsequences: false) : [item.title[...]]
        var parts = names.map { Escaping.printable(String($0)) }
        let leaf = parts.popLast() ?? ""
        let known = zip(folders, parts).prefix { $0 == $1 }.count
        folders = parts
        for (depth, part) in parts.enumerated().dropFirst(known) {
            text += Self.indentation(depth) + part + "/\n"
        }
        return text + Self.indentation(parts.count) + leaf + "\n"
    }

    private static func indentation(_ depth: Int) -> String {
        String(repeating: "  ", count: depth + 1)
    }

    private func title(_ item: ListedItem) -> String {
        let kind = item.owner.isValet ? "valet" : item.owner.kind.rawValue
        let owner = kind + " " + quoted(item.owner.name)
        return showsApplications ? Escaping.printable(item.group) + ", " + owner : owner
    }
}
