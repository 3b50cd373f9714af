// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory

/// Where a command reads and writes: ``Terminal``, or a stand-in for it.
protocol Console {
    var isInputTerminal: Bool { get }
    var isOutputTerminal: Bool { get }
    var isErrorTerminal: Bool { get }
    /// Why questions are off, as under `VALET_INTERACTION=never`; nil where they are allowed.
    var refusalToAsk: String? { get }

    /// All of standard input.
    ///
    /// - Throws: ``ExitCode/usage`` if there are more than `byteCount` bytes.
    func readInput(atMost byteCount: Int) throws(CLIError) -> SecretValue
    /// Asks a person for a line, twice, without showing it.
    func askTwice(_ prompt: String) throws(CLIError) -> SecretValue
    /// Asks a person for a "y".
    func confirm(_ question: String) throws(CLIError) -> Bool
    /// Writes bytes to standard output.
    func write(_ bytes: Span<UInt8>) throws(CLIError)
    /// Writes a line to standard error. What cannot be written there is lost.
    func note(_ line: String)
    /// Writes text without a newline to standard error. What cannot be written there is lost.
    func show(_ text: String)
}

extension Console {
    /// Writes text to standard output.
    func write(_ text: String) throws(CLIError) {
        try write(Array(text.utf8).span)
    }

    /// Writes a JSON value and a newline to standard output.
    func write(_ json: JSON) throws(CLIError) {
        try write(json.encoded + "\n")
    }

    /// Reports an error and what helps.
    func report(_ error: CLIError) {
        note("valet: error: \(error.message)")
        if let hint = error.hint { self.hint(hint) }
    }

    /// Why nobody can be asked here; nil where somebody can.
    var obstacleToAsking: String? {
        guard isInputTerminal else { return "standard input is not a terminal to ask on" }
        return refusalToAsk
    }

    /// Has a person agree to what cannot be undone, unless that was done in advance.
    ///
    /// - Throws: ``ExitCode/usage`` where there is nobody to ask, ``ExitCode/denied`` for a no.
    func requireConsent(to question: String, isGiven: Bool) throws(CLIError) {
        guard !isGiven else { return }
        if let obstacle = obstacleToAsking {
            throw .usage(
                "this cannot be undone, and \(obstacle)", hint: "'--yes' does it without asking")
        }
        guard try confirm(question) else { throw CLIError(.denied, "nothing was changed") }
    }

    /// Says what helps.
    func hint(_ hint: String) {
        note("valet: hint: \(hint)")
    }
}
