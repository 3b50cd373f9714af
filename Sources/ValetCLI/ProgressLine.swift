// SPDX-License-Identifier: Apache-2.0

/// Says on a terminal how far a long work has come; says nothing anywhere else, or of a short one.
final class ProgressLine {
    private let console: any Console
    private let what: String
    private var shownPercentage: Int?

    /// - Parameter what: What is being done: "sealing items anew".
    init(_ what: String, on console: any Console) {
        self.console = console
        self.what = what
    }

    /// Shows that `count` of `total` are done.
    func show(_ count: Int, of total: Int) {
        guard console.isErrorTerminal, total > 0 else { return }
        let percentage = count * 100 / total
        // What is done at once needs no line.
        guard shownPercentage != nil || count < total, percentage != shownPercentage else { return }
        shownPercentage = percentage
        console.show("\rvalet: \(what): \(percentage) %")
    }

    /// Ends the line, if one was begun.
    func end() {
        if shownPercentage != nil { console.show("\n") }
        shownPercentage = nil
    }
}

extension Context {
    /// Runs `body`, which changes the keys of the keychain, and shows how far it has come.
    func changingKeys<R>(
        _ body: (_ progress: (_ count: Int, _ total: Int) -> Void) throws(CLIError) -> R
    ) throws(CLIError) -> R {
        let line = ProgressLine("sealing items anew", on: console)
        defer { line.end() }
        return try body { line.show($0, of: $1) }
    }
}
