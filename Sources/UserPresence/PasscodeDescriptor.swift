// SPDX-License-Identifier: Apache-2.0

package import ValetSecretMemory
package import ValetSystem

/// An inherited descriptor that a passcode comes through: a line of it for each question.
package struct PasscodeDescriptor: Hashable, Sendable {
    /// The variable that names one for programs without arguments.
    package static let variable = "VALET_PASSCODE_FD"

    /// What ``variable`` is set to; nil if it is not set, or empty.
    package static func variableText(_ environment: Environment = .ofProcess) -> String? {
        environment.value(variable).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Its number in this process: 0, or 3 and above.
    package let number: Int32

    /// Reads a number: decimal digits without sign, spaces or leading zeros.
    ///
    /// - Throws: `unavailable(.descriptor)` for anything else, and for 1 and 2, which are output.
    package init(_ text: String) throws(UserPresenceError) {
        guard let number = Int32(text), String(number) == text, number == 0 || number > 2 else {
            throw Self.failure("name a descriptor that can be read: 0, or 3 and above")
        }
        self.number = number
    }

    /// A number that was not handed over may be, by now, a file that this process has opened: the
    /// keychain itself. It would be taken for the passcode, and closed.
    private func checkIsInherited() throws(UserPresenceError) {
        guard Descriptor.isInherited(number) else {
            throw Self.failure(
                "file descriptor \(number) was not inherited")
        }
    }

    /// Reads a line that is no passcode, as ``read(allowsEmpty:until:)`` does.
    package func readLine(
        atMost byteCount: Int, within duration: Duration
    ) throws(UserPresenceError) -> SecretBytes {
        try read(allowsEmpty: false, atMost: byteCount, until: Deadline(after: duration))
    }

    /// Reads the passcode, up to a newline, which is dropped, or to the end. Nothing behind the
    /// newline is read: it belongs to the next reader.
    ///
    /// - Throws: `unavailable(.descriptor)` if it did not come with the program, cannot be read,
    ///   or is a terminal, which would show what is typed; `timedOut`; `tooLong` above
    ///   ``PasscodePrompt/maximumByteCount``; `empty` at its end, and for an empty line unless
    ///   `allowsEmpty`.
    package func read(
        allowsEmpty: Bool = false, until deadline: Deadline
    ) throws(UserPresenceError) -> SecretBytes {
        try read(
            allowsEmpty: allowsEmpty, atMost: PasscodePrompt.maximumByteCount, until: deadline)
    }

    private func read(
        allowsEmpty: Bool, atMost maximumByteCount: Int, until deadline: Deadline
    ) throws(UserPresenceError) -> SecretBytes {
        try checkIsInherited()
        guard !Descriptor.isTerminal(number) else {
            throw Self.failure("descriptor \(number) is a terminal: use a pipe or a file")
        }
        var input = SecretInput(capacity: PasscodePrompt.maximumByteCount + 1)
        while !input.endsInNewline, try readByte(into: &input, until: deadline) {
            guard input.lineByteCount <= maximumByteCount else {
                throw UserPresenceError(.tooLong, during: Self.operation)
            }
        }
        let count = input.lineByteCount
        guard count > 0 || (allowsEmpty && input.endsInNewline) else {
            throw UserPresenceError(
                .empty, during: Self.operation,
                hint: "descriptor \(number) has no further line, and each question takes one")
        }
        return input.prefix(count)
    }

    /// Reads the passcode of this process from the descriptor that ``variable`` names, and closes
    /// it, whatever comes of it; standard input stays open.
    ///
    /// - Throws: As ``read(allowsEmpty:until:)``; `unavailable(.descriptor)` also if the variable
    ///   is not set, or not to be believed.
    package static func readGiven(
        within duration: Duration
    ) throws(UserPresenceError) -> SecretBytes {
        guard let text = variableText() else {
            throw failure("set \(variable) to the number of a descriptor")
        }
        let descriptor = try ofVariable(text)
        try namingVariable { () throws(UserPresenceError) in try descriptor.checkIsInherited() }
        defer { descriptor.close() }
        return try descriptor.read(until: Deadline(after: duration))
    }

    /// The descriptor that ``variable`` names with `text`.
    ///
    /// - Throws: As ``init(_:)``; the hint names the variable.
    static func ofVariable(_ text: String) throws(UserPresenceError) -> PasscodeDescriptor {
        try namingVariable { () throws(UserPresenceError) in try PasscodeDescriptor(text) }
    }

    private static func namingVariable<R>(
        _ body: () throws(UserPresenceError) -> R
    ) throws(UserPresenceError) -> R {
        do throws(UserPresenceError) {
            return try body()
        } catch {
            throw failure("\(variable): \(error.hint ?? "")")
        }
    }

    private func close() {
        // What is opened next would become the standard input of the process.
        guard number > 0 else { return }
        _ = Descriptor(owning: number)
    }

    /// Returns whether there was one.
    private func readByte(
        into input: inout SecretInput, until deadline: Deadline
    ) throws(UserPresenceError) -> Bool {
        while true {
            guard case .ready = Descriptor.wait(for: number, until: deadline) else {
                throw UserPresenceError(.timedOut, during: Self.operation)
            }
            let count = input.readOnce(from: number, atMost: 1)
            if count >= 0 { return count > 0 }
            guard Descriptor.mayTryAgain(after: -count) else {
                throw Self.failure("descriptor \(number) cannot be read", Int32(-count))
            }
        }
    }

    private static let operation = "read the passcode from a descriptor"

    private static func failure(_ hint: String, _ systemError: Int32 = 0) -> UserPresenceError {
        UserPresenceError(
            .unavailable(.descriptor), during: operation, hint: hint, systemError: systemError)
    }
}
