// SPDX-License-Identifier: Apache-2.0

package import ValetSecretMemory
package import ValetSystem

/// Gets a passcode in the one way that this process allows.
///
/// In this order: the descriptor that it was made with; that of `$VALET_PASSCODE_FD`; not at all
/// under `VALET_INTERACTION=never`, or in a process with more rights than its caller; pinentry,
/// then the terminal itself, or the other way round. A way that is missing or cannot show itself
/// gives way to the next; one that a person refused, or that misbehaves, does not.
///
/// Calls block the thread until the prompt's deadline and up to 2 s longer, while a program that
/// does not react is ended. Threads that ask at once take turns.
package struct PasscodeAsker: Sendable {
    static let turn = FairLock()

    private let descriptor: PasscodeDescriptor?
    private let environment: Environment
    let prefersTerminal: Bool
    private let readsVariable: Bool

    /// Makes one for a process with `environment`.
    ///
    /// - Parameters:
    ///   - descriptor: what `--passcode-fd` named.
    ///   - prefersTerminal: whether a terminal is asked on directly even if there is a pinentry:
    ///     for a command, whose caller looks at that terminal.
    ///   - readsVariable: whether `$VALET_PASSCODE_FD` counts: not for secrets that are no
    ///     keychain's passcode.
    package init(
        descriptor: PasscodeDescriptor? = nil, environment: Environment = .ofProcess,
        prefersTerminal: Bool = false, readsVariable: Bool = true
    ) {
        self.descriptor = descriptor
        self.environment = environment
        self.prefersTerminal = prefersTerminal
        self.readsVariable = readsVariable
    }

    /// Makes one for this process.
    package static func forProcess(
        descriptor: PasscodeDescriptor? = nil, prefersTerminal: Bool = false,
        readsVariable: Bool = true
    ) -> PasscodeAsker {
        PasscodeAsker(
            descriptor: descriptor, prefersTerminal: prefersTerminal, readsVariable: readsVariable)
    }

    /// Whether a person answers, who may be told that the answer was wrong and asked again. A
    /// descriptor may hold further lines, but they answer further questions.
    package var isInteractive: Bool {
        descriptor == nil && variable == nil
    }

    private var variable: String? {
        readsVariable ? PasscodeDescriptor.variableText(environment) : nil
    }

    /// Gets the passcode.
    ///
    /// A descriptor is not asked twice for a new passcode: a program does not mistype.
    ///
    /// - Throws: Every code of ``UserPresenceError``.
    package func ask(_ prompt: PasscodePrompt) throws(UserPresenceError) -> SecretBytes {
        let deadline = Deadline(after: prompt.timeout)
        if let descriptor = try givenDescriptor() {
            return try descriptor.read(allowsEmpty: prompt.allowsEmpty, until: deadline)
        }
        try checkThatAskingIsOn()
        try Self.takeTurn(prompt.cancellation, until: deadline)
        defer { Self.turn.release() }
        return try askPerson(prompt, until: deadline)
    }

    /// Makes sure that there is somebody, or something, to ask; asks nobody.
    ///
    /// - Throws: `unavailable` with the reason.
    package func checkThatSomebodyIsThere() throws(UserPresenceError) {
        guard isInteractive else { return _ = try givenDescriptor() }
        try checkThatAskingIsOn()
        let device = TerminalDevice()
        let (isTerminal, isInBackground) = (device.isTerminal, device.isInBackground)
        if isTerminal && !isInBackground { return }
        if try pinentry(usesTerminal: false) != nil { return }
        throw Self.nobody(isInBackground: isTerminal)
    }

    /// Makes sure that questions are allowed; there may be nobody to answer them.
    ///
    /// - Throws: `unavailable` with the reason: `elevated`, `interactionOff` or `setting`.
    package func checkThatAskingIsOn() throws(UserPresenceError) {
        guard !environment.isElevated else { throw UserPresenceError(.unavailable(.elevated)) }
        guard try !Self.isAskingOff(environment) else {
            throw UserPresenceError(
                .unavailable(.interactionOff),
                hint: "unset \(Self.interactionVariable), or give the passcode through a "
                    + "descriptor")
        }
    }

    /// Checks the variables that say how to ask, before anything depends on them: a mistyped
    /// value must not count as none.
    ///
    /// - Throws: `unavailable(.setting)`, with a hint that names the variable.
    package static func checkSettings(
        _ environment: Environment = .ofProcess
    ) throws(UserPresenceError) {
        _ = try isAskingOff(environment)
        let variable = PasscodeDescriptor.variable
        guard !environment.isMalformed(variable) else { throw misunderstood(variable) }
        guard let text = PasscodeDescriptor.variableText(environment) else { return }
        do throws(UserPresenceError) {
            _ = try PasscodeDescriptor(text)
        } catch {
            throw misunderstood(variable)
        }
    }

    private static let interactionVariable = "VALET_INTERACTION"

    private static func isAskingOff(_ environment: Environment) throws(UserPresenceError) -> Bool {
        guard !environment.isMalformed(interactionVariable) else {
            throw misunderstood(interactionVariable)
        }
        switch environment.value(interactionVariable) {
        case nil, "": return false
        case "never": return true
        default: throw misunderstood(interactionVariable)
        }
    }

    /// The value is not repeated: it may be a passcode that was put in the wrong place.
    private static func misunderstood(_ variable: String) -> UserPresenceError {
        let values =
            variable == interactionVariable
            ? "'never', or unset it"
            : "the number of a descriptor that can be read: 0, or 3 and above"
        return UserPresenceError(
            .unavailable(.setting), during: "read \(variable)",
            hint: "set \(variable) to \(values)")
    }

    /// Waits until no other thread asks. A caller that can be cancelled looks every 50 ms whether
    /// it was, and goes to the end of the queue.
    static func takeTurn(
        _ cancellation: PromptCancellation?, until deadline: Deadline
    ) throws(UserPresenceError) {
        guard let cancellation else {
            guard turn.acquire(before: deadline) else { throw UserPresenceError(.timedOut) }
            return
        }
        while !cancellation.isCancelled {
            let pause = min(deadline.remaining, .milliseconds(50))
            if turn.acquire(before: Deadline(after: pause)) { return }
            if deadline.hasPassed { throw UserPresenceError(.timedOut) }
        }
        throw UserPresenceError(.cancelled)
    }

    private func givenDescriptor() throws(UserPresenceError) -> PasscodeDescriptor? {
        if let descriptor { return descriptor }
        guard let text = variable else { return nil }
        return try .ofVariable(text)
    }

    private func askPerson(
        _ prompt: PasscodePrompt, until deadline: Deadline
    ) throws(UserPresenceError) -> SecretBytes {
        let device = TerminalDevice()
        let (isTerminal, isInBackground) = (device.isTerminal, device.isInBackground)
        let isUsable = isTerminal && !isInBackground
        if prefersTerminal, isUsable {
            return try Self.ask(prompt, on: device, until: deadline)
        }
        let program = try pinentry(usesTerminal: isUsable && device.isControlling)
        do throws(UserPresenceError) {
            if let program { return try program.ask(prompt, until: deadline) }
        } catch {
            guard error.code == .unavailable(.pinentry), isUsable else { throw error }
        }
        if isUsable { return try Self.ask(prompt, on: device, until: deadline) }
        throw Self.nobody(isInBackground: isTerminal)
    }

    static func nobody(isInBackground: Bool) -> UserPresenceError {
        if isInBackground {
            return UserPresenceError(
                .unavailable(.inBackground), hint: "bring it to the foreground with 'fg'")
        }
        return UserPresenceError(
            .unavailable(.nobodyThere),
            hint: "use a terminal, install a pinentry, or give the passcode through a descriptor")
    }

    /// The program to ask through, if there is one that has something to show itself on.
    func pinentry(usesTerminal: Bool) throws(UserPresenceError) -> PinentryProgram? {
        let isChosen = environment.value("VALET_PINENTRY")?.isEmpty == false
        guard isChosen || usesTerminal || ChildEnvironment.hasScreen(environment) else {
            return nil
        }
        let search = PinentrySearch(
            environment: environment, isProgram: FileCheck.isProgram,
            contents: FileCheck.contents)
        return try search.program().map {
            PinentryProgram(path: $0, environment: environment, usesTerminal: usesTerminal)
        }
    }

    private static func ask(
        _ prompt: PasscodePrompt, on device: consuming TerminalDevice, until deadline: Deadline
    ) throws(UserPresenceError) -> SecretBytes {
        var prompter = TerminalPrompter(device, until: deadline)
        return try prompt.answer(from: &prompter)
    }
}
