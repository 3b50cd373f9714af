// SPDX-License-Identifier: Apache-2.0

package import ValetSealing
package import ValetSystem

/// An inherited descriptor that supplies passcodes: one line for each question.
package struct PasscodeDescriptor: Hashable, Sendable {
    /// The environment variable that names a descriptor for programs without arguments.
    package static let variable = "VALET_PASSCODE_FD"

    /// The value of ``variable``; nil if it is not set or empty.
    package static func variableText(_ environment: Environment = .ofProcess) -> String? {
        environment.text(variable)
    }

    /// Its number in this process: 0, or 3 and above.
    package let number: Int32

    /// Reads a number: decimal digits without sign, spaces or leading zeros.
    ///
    /// - Throws: `descriptorUnreadable` for anything else, and for 1 and 2, which are output.
    package init(_ text: String) throws(SystemError) {
        guard let number = Int32(text), String(number) == text, number == 0 || number > 2 else {
            throw Self.failure("name a descriptor that can be read: 0, or 3 and above")
        }
        self.number = number
    }

    /// Refuses a number that was not inherited. This process may have opened the keychain itself
    /// under that number, and would read it as a passcode and close it.
    private func checkIsInherited() throws(SystemError) {
        guard FileDescriptor.isInherited(number) else {
            throw Self.failure(
                "file descriptor \(number) was not inherited")
        }
    }

    /// Reads a line other than a passcode, under the rules of ``read(allowsEmpty:until:)``.
    package func readLine(
        atMost byteCount: Int, within duration: Duration
    ) throws(SystemError) -> SecretBytes {
        try read(allowsEmpty: false, atMost: byteCount, until: Deadline(after: duration))
    }

    /// Reads the passcode up to a newline, which is dropped, or up to the end. Leaves all bytes
    /// after the newline to the next reader. Drops what only editors on other systems add: a
    /// carriage return before the newline, and the UTF-8 byte order mark at the start.
    ///
    /// - Throws: `descriptorUnreadable` if it was not inherited, cannot be read, or is a
    ///   terminal, which would show the input; `timedOut`; `tooLong` above
    ///   ``PasscodePrompt/maximumByteCount``; `empty` at its end, and for an empty line unless
    ///   `allowsEmpty`.
    package func read(
        allowsEmpty: Bool = false, until deadline: Deadline
    ) throws(SystemError) -> SecretBytes {
        try read(
            allowsEmpty: allowsEmpty, atMost: PasscodePrompt.maximumByteCount, until: deadline)
    }

    private func read(
        allowsEmpty: Bool, atMost maximumByteCount: Int, until deadline: Deadline
    ) throws(SystemError) -> SecretBytes {
        var input = Self.emptyInput
        return try readLine(
            into: &input, allowsEmpty: allowsEmpty, atMost: maximumByteCount, until: deadline)
    }

    /// An input for ``readGiven(within:continuing:)`` that has read nothing.
    package static var emptyInput: SecretInput {
        SecretInput(capacity: PasscodePrompt.maximumByteCount + 1)
    }

    /// Reads the rest of a line of which `input` has the beginning.
    private func readLine(
        into input: inout SecretInput, allowsEmpty: Bool, atMost maximumByteCount: Int,
        until deadline: Deadline
    ) throws(SystemError) -> SecretBytes {
        try checkIsInherited()
        guard !FileDescriptor.isTerminal(number) else {
            throw Self.failure("descriptor \(number) is a terminal: use a pipe or a file")
        }
        while !input.endsInNewline, try readByte(into: &input, until: deadline) {
            guard input.lineByteCount <= maximumByteCount else {
                throw SystemError.asking(.tooLong, during: Self.operation)
            }
        }
        let isWide = Self.wideMarks.contains { input.starts(with: $0) }
        if isWide {
            throw Self.failure("descriptor \(number) supplies UTF-16: save the text as UTF-8")
        }
        if input.starts(with: Self.byteOrderMark) { input.removeFirst(Self.byteOrderMark.count) }
        let count = input.lineByteCount
        guard count > 0 || (allowsEmpty && input.endsInNewline) else {
            throw SystemError.asking(
                .empty, during: Self.operation,
                hint: "descriptor \(number) has no further line, but each question needs one")
        }
        return input.prefix(count)
    }

    /// Reads the passcode of this process from the descriptor that ``variable`` names. Then closes
    /// it, also after an error, but not if the time is over; standard input stays open.
    ///
    /// - Parameter input: ``emptyInput``, or what an earlier call has read when its time was over.
    /// - Throws: The codes of ``read(allowsEmpty:until:)``; `descriptorUnreadable` also if the
    ///   variable is not set or not trusted.
    package static func readGiven(
        within duration: Duration, continuing input: inout SecretInput
    ) throws(SystemError) -> SecretBytes {
        guard let text = variableText() else {
            throw failure("set \(variable) to the number of a descriptor")
        }
        let descriptor = try ofVariable(text)
        try namingVariable { () throws(SystemError) in try descriptor.checkIsInherited() }
        do {
            let passcode = try descriptor.readLine(
                into: &input, allowsEmpty: false, atMost: PasscodePrompt.maximumByteCount,
                until: Deadline(after: duration))
            descriptor.close()
            return passcode
        } catch {
            // The rest of the line may still come.
            if error.code != .timedOut { descriptor.close() }
            throw error
        }
    }

    /// Keeps the descriptor that ``variable`` names, used or not, from programs that this process
    /// starts or becomes: they inherit neither the descriptor nor the variable, and if it is
    /// standard input, theirs is empty. This process can read no passcode from it any more.
    ///
    /// - Parameter hasReadInput: Whether standard input was read for another purpose.
    package static func keepFromPrograms(hasReadInput: Bool) {
        if hasReadInput { FileDescriptor.keepFromPrograms(0) }
        guard let text = Environment.remove(variable) else { return }
        if let descriptor = try? PasscodeDescriptor(text) {
            FileDescriptor.keepFromPrograms(descriptor.number)
        }
    }

    /// The descriptor that ``variable`` names with `text`.
    ///
    /// - Throws: The codes of ``init(_:)``; the hint names the variable.
    static func ofVariable(_ text: String) throws(SystemError) -> PasscodeDescriptor {
        try namingVariable { () throws(SystemError) in try PasscodeDescriptor(text) }
    }

    private static func namingVariable<R>(
        _ body: () throws(SystemError) -> R
    ) throws(SystemError) -> R {
        do {
            return try body()
        } catch {
            throw failure("\(variable): \(error.hint ?? "")")
        }
    }

    private func close() {
        // Keep standard input open: the next opened file would become standard input.
        guard number > 0 else { return }
        _ = FileDescriptor(owning: number)
    }

    /// Reads one byte. Returns false at the end.
    private func readByte(
        into input: inout SecretInput, until deadline: Deadline
    ) throws(SystemError) -> Bool {
        while true {
            guard WaitLimit(until: deadline).wait(for: number) == .ready else {
                throw SystemError.asking(.timedOut, during: Self.operation)
            }
            let count = input.readOnce(from: number, atMost: 1)
            if count >= 0 { return count > 0 }
            guard FileDescriptor.mayTryAgain(after: -count) else {
                throw Self.failure("descriptor \(number) cannot be read", Int32(-count))
            }
        }
    }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    /// The byte order marks of UTF-16, which no UTF-8 begins with.
    private static let wideMarks: [[UInt8]] = [[0xFF, 0xFE], [0xFE, 0xFF]]
    private static let operation = "read the passcode from a descriptor"

    private static func failure(_ hint: String, _ systemError: Int32 = 0) -> SystemError {
        SystemError.asking(
            .descriptorUnreadable, during: operation, hint: hint, systemError: systemError)
    }
}
