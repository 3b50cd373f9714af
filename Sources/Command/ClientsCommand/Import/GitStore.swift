// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing

/// The file of git's helper `store` (git-credential-store(1)): a line
/// `https://user:password@host/path` for each password, with `%` escapes in each part.
enum GitStore {
    /// Adds the items of a file: each line becomes a password as `git-credential-valet` stores it.
    static func add(_ text: SecretValue, to found: inout ImportedItems) throws(CLIError) {
        try text.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
            for (index, range) in bytes.lines.enumerated() {
                var line = bytes.extracting(range)
                if !line.isEmpty, line[line.count - 1] == UInt8(ascii: "\r") {
                    line = line.extracting(droppingLast: 1)
                }
                // git passes over empty lines and comments.
                guard !line.isEmpty, line[0] != UInt8(ascii: "#") else { continue }
                let source = "line \(index + 1)"
                switch item(line, source) {
                case .item(let item): try found.add(item)
                case .skipped(let reason): found.skip(source, reason)
                }
            }
        }
    }

    /// The contents of a line: an item, or a reason to skip it.
    private enum Found {
        case item(ImportedItem)
        case skipped(String)
    }

    private static func item(
        _ line: Span<UInt8>, _ source: String
    ) -> Found {
        // The line may be a password in a wrong place: it is not shown.
        let malformed = Found.skipped("it is not an address with a user name and a password")
        guard let parts = Parts(line) else { return malformed }
        guard let scheme = parts.scheme.publicText,
            let host = parts.host.percentDecoded?.publicText,
            let path = parts.path.percentDecoded?.publicText,
            let user = parts.user.percentDecoded?.publicText,
            let password = parts.password.percentDecoded
        else { return .skipped("one of its parts is not text") }
        let isWhole = [host, path, user].allSatisfy(GitRequest.isSafe)
        guard isWhole, GitSecret(parsing: password)?.isAlone == true else {
            return .skipped("git refuses line ends and null bytes")
        }
        guard let place = LoginPlace(scheme: scheme, host: host, path: path),
            !host.isEmpty || !path.isEmpty
        else { return malformed }
        return .item(
            ImportedItem(
                place, account: user, kind: .standard, password, from: "\(place.host) (\(source))"))
    }

    /// The parts of a line, with their escapes, as git finds them.
    private struct Parts {
        let scheme, user, password, host, path: SecretValue

        init?(_ line: Span<UInt8>) {
            guard let mark = line.firstIndex(of: UInt8(ascii: ":")), mark > 0,
                line.extracting((mark + 1)..<line.count).startsWith("//")
            else { return nil }
            let start = mark + 3
            let rest = line.extracting(start..<line.count)
            let end = rest.indices.first { "/?#".utf8.contains(rest[$0]) } ?? rest.count
            guard let at = rest.firstIndex(of: UInt8(ascii: "@")), at < end,
                let colon = rest.firstIndex(of: UInt8(ascii: ":")), colon < at
            else { return nil }
            var (first, last) = (end, rest.count)
            while first < last, rest[first] == UInt8(ascii: "/") { first += 1 }
            while last > first, rest[last - 1] == UInt8(ascii: "/") { last -= 1 }
            scheme = SecretValue(copying: line.extracting(0..<mark))
            user = SecretValue(copying: rest.extracting(0..<colon))
            password = SecretValue(copying: rest.extracting((colon + 1)..<at))
            host = SecretValue(copying: rest.extracting((at + 1)..<end))
            path = SecretValue(copying: rest.extracting(first..<last))
        }
    }
}
