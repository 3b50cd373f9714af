// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
package import ValetSealing

/// Where a command reads and writes: ``Terminal``, or a stand-in for it. `requireConsent` asks
/// before changes that cannot be undone.
package protocol Console {
    var isInputTerminal: Bool { get }
    var isOutputTerminal: Bool { get }
    var isErrorTerminal: Bool { get }
    /// Why questions are off, as under `VALET_INTERACTION=never`; nil if they are allowed.
    var refusalToAsk: String? { get }

    /// The width of the terminal that is standard output; nil if standard output is not a terminal.
    var outputColumnCount: Int? { get }
    /// Whether standard output is a terminal that shows colours, and the user has not refused them.
    var takesColour: Bool { get }
    /// Whether the command may ask a question that the user can leave unanswered, such as an offer
    /// to unlock.
    var canOffer: Bool { get }
    func askLine(_ question: String) throws(CLIError) -> String

    /// All of standard input.
    ///
    /// - Throws: ``ExitCode/usage`` for more than `byteCount` bytes.
    func readInput(atMost byteCount: Int) throws(CLIError) -> SecretValue
    /// Reads a secret twice without echo. Fails if the two lines differ three times.
    func askTwice(_ prompt: String) throws(CLIError) -> SecretValue
    /// Asks a question; true if the answer begins with "y". Fails without an answer within
    /// `duration`.
    func confirm(_ question: String, within duration: Duration) throws(CLIError) -> Bool
    /// Writes bytes to standard output.
    func write(_ bytes: Span<UInt8>) throws(CLIError)
    /// Writes a line to standard error, and ignores a failure to write.
    func note(_ line: String)
    /// Writes text without a newline to standard error, and ignores a failure to write.
    func show(_ text: String)
}

extension Console {
    /// Writes text to standard output. For a terminal, control characters are escaped.
    package func write(_ text: String) throws(CLIError) {
        try write(Array((isOutputTerminal ? Escaping.harmless(text) : text).utf8).span)
    }

    /// Writes the exact bytes of a secret to standard output.
    package func write(_ secret: SecretValue) throws(CLIError) {
        try secret.withBytes { (bytes: Span<UInt8>) throws(CLIError) in try write(bytes) }
    }

    /// Asks a question; true if the answer begins with "y". Fails without one within a minute.
    package func confirm(_ question: String) throws(CLIError) -> Bool {
        try confirm(question, within: .seconds(60))
    }

    /// Writes a JSON value and a newline to standard output.
    package func write(_ json: JSON) throws(CLIError) {
        try write(json.encoded + "\n")
    }

    /// Runs a step of a command that has taken effect: its report, or another look. A failure is a
    /// warning: the command has succeeded.
    ///
    /// A command whose report is the only copy of a secret does not use this: it fails, and says
    /// what has happened.
    package func afterEffect(_ step: () throws(CLIError) -> Void) {
        do {
            try step()
        } catch {
            note("valet: warning: the command has taken effect, but \(error.message)")
            if let hint = error.hint { self.hint(hint) }
        }
    }

    /// Runs `step` as ``afterEffect(_:)`` does if the command has taken effect. Otherwise, as in a
    /// dry run, the report is all that was asked for, and its failure is one of the command.
    package func report(
        ofEffect isEffective: Bool, _ step: () throws(CLIError) -> Void
    ) throws(CLIError) {
        guard isEffective else { return try step() }
        afterEffect(step)
    }

    package func report(_ error: CLIError) {
        note("valet: error: \(error.message)")
        for choice in error.choices { note("valet:     \(choice)") }
        if let hint = error.hint { self.hint(hint) }
    }

    /// Why a question cannot be asked; nil if it can.
    package var obstacleToAsking: String? {
        guard isInputTerminal else { return "standard input is not a terminal" }
        return refusalToAsk
    }

    /// Asks for consent, unless it is given in advance.
    ///
    /// - Parameters:
    ///   - reason: Why consent is needed.
    ///   - refusal: The error for a no.
    /// - Throws: ``ExitCode/usage`` if the question cannot be asked, ``ExitCode/denied`` for a no.
    package func requireConsent(
        to question: String, isGiven: Bool, because reason: String = "this cannot be undone",
        hint: String = "'--yes' gives consent in advance", refusal: String = "nothing was changed"
    ) throws(CLIError) {
        guard !isGiven else { return }
        if let obstacle = obstacleToAsking {
            throw .usage("\(reason) and needs your consent, but \(obstacle)", hint: hint)
        }
        guard try confirm(question) else { throw CLIError(.denied, refusal) }
    }

    package func hint(_ hint: String) {
        note("valet: hint: \(hint)")
    }
}

/// Shows the progress of long work on a terminal. Shows nothing elsewhere, or for short work.
package final class ProgressLine {
    private let console: any Console
    private let what: String
    private var shownPercentage: Int?

    /// - Parameter what: The work: "sealing items again".
    package init(_ what: String, on console: any Console) {
        self.console = console
        self.what = what
    }

    /// Shows that `count` of `total` are done.
    package func show(_ count: Int, of total: Int) {
        guard console.isErrorTerminal, total > 0 else { return }
        // A total may come from a file: a hundred times as much may not fit into an `Int`.
        let hundredfold = min(max(0, count), total).multipliedFullWidth(by: 100)
        let percentage = total.dividingFullWidth(hundredfold).quotient
        // Work that is done at once needs no line.
        guard shownPercentage != nil || count < total, percentage != shownPercentage else { return }
        shownPercentage = percentage
        console.show("\rvalet: \(what): \(percentage) %")
    }

    /// Ends the line, if one was begun.
    package func end() {
        if shownPercentage != nil { console.show("\n") }
        shownPercentage = nil
    }
}
