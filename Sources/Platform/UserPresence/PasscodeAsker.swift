// SPDX-License-Identifier: Apache-2.0

package import ValetSealing
package import ValetSystem

/// Gets a passcode in the first way that this process allows.
///
/// The ways, in this order: the descriptor that it was made with; the descriptor of
/// `$VALET_PASSCODE_FD`; pinentry and the terminal, in either order. The last two are not used
/// under `VALET_INTERACTION=never`, nor in a process with more rights than its caller. If a way is
/// missing or cannot be shown, the next one is used; if a person declines or a program misbehaves,
/// no other way is tried.
///
/// Calls block the thread until the prompt's deadline, and up to 2 s longer to end a program that
/// does not react. Concurrent threads ask in turn.
package struct PasscodeAsker: Sendable {
    static let turn = FairLock()

    private let descriptor: PasscodeDescriptor?
    private let environment: Environment
    let prefersTerminal: Bool
    private let readsVariable: Bool

    /// Makes one for a process with `environment`.
    ///
    /// - Parameters:
    ///   - descriptor: The value of `--passcode-fd`.
    ///   - prefersTerminal: Whether to ask on the terminal even if there is a pinentry: for a
    ///     command, whose user looks at that terminal.
    ///   - readsVariable: Whether `$VALET_PASSCODE_FD` counts. False for secrets other than a
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

    package static func forProcess(
        descriptor: PasscodeDescriptor? = nil, prefersTerminal: Bool = false,
        readsVariable: Bool = true
    ) -> PasscodeAsker {
        PasscodeAsker(
            descriptor: descriptor, prefersTerminal: prefersTerminal, readsVariable: readsVariable)
    }

    /// Whether a person answers, so that a wrong answer can be asked for again. Further lines of a
    /// descriptor answer further questions, not the same one.
    package var isInteractive: Bool {
        descriptor == nil && variable == nil
    }

    private var variable: String? {
        readsVariable ? PasscodeDescriptor.variableText(environment) : nil
    }

    /// Gets the passcode.
    ///
    /// A new passcode is read from a descriptor only once: a program does not mistype.
    ///
    /// - Throws: Every code of ``SystemError``.
    package func ask(_ prompt: PasscodePrompt) throws(SystemError) -> SecretBytes {
        let deadline = Deadline(after: prompt.timeout)
        if let descriptor = try givenDescriptor() {
            return try descriptor.read(allowsEmpty: prompt.allowsEmpty, until: deadline)
        }
        try checkThatAskingIsOn()
        try Self.takeTurn(prompt.cancellation, until: deadline)
        defer { Self.turn.release() }
        return try askPerson(prompt, until: deadline)
    }

    /// Checks that there is a way to ask, without asking.
    ///
    /// - Throws: The reason why the user cannot be asked.
    package func checkThatSomebodyIsThere() throws(SystemError) {
        guard isInteractive else { return _ = try givenDescriptor() }
        try checkThatAskingIsOn()
        let device = TerminalDevice()
        let (isTerminal, isInBackground) = (device.isTerminal, device.isInBackground)
        if isTerminal && !isInBackground { return }
        if try pinentry(usesTerminal: false) != nil { return }
        throw Self.nobody(isInBackground: isTerminal)
    }

    /// Checks that questions are allowed. There may still be no way to ask them.
    ///
    /// - Throws: `elevated`, `interactionOff` or `invalidSetting`.
    package func checkThatAskingIsOn() throws(SystemError) {
        guard !environment.isElevated else { throw SystemError.asking(.elevated) }
        guard try !Self.isAskingOff(environment) else {
            throw SystemError.asking(
                .interactionOff,
                hint: "unset \(Self.interactionVariable), or give the passcode through a "
                    + "descriptor")
        }
    }

    /// Checks the environment variables that say how to ask, before anything depends on them: a
    /// mistyped value must not count as unset.
    ///
    /// - Throws: `invalidSetting`, with a hint that names the variable.
    package static func checkSettings(
        _ environment: Environment = .ofProcess
    ) throws(SystemError) {
        _ = try isAskingOff(environment)
        let variable = PasscodeDescriptor.variable
        guard !environment.isMalformed(variable) else { throw misunderstood(variable) }
        guard let text = PasscodeDescriptor.variableText(environment) else { return }
        do {
            _ = try PasscodeDescriptor(text)
        } catch {
            throw misunderstood(variable)
        }
    }

    private static let interactionVariable = "VALET_INTERACTION"

    private static func isAskingOff(_ environment: Environment) throws(SystemError) -> Bool {
        guard !environment.isMalformed(interactionVariable) else {
            throw misunderstood(interactionVariable)
        }
        switch environment.value(interactionVariable) {
        case nil, "": return false
        case "never": return true
        default: throw misunderstood(interactionVariable)
        }
    }

    /// The error does not repeat the value: it may be a passcode in the wrong place.
    private static func misunderstood(_ variable: String) -> SystemError {
        let values =
            variable == interactionVariable
            ? "'never', or unset it"
            : "the number of a descriptor that can be read: 0, or 3 and above"
        return SystemError.asking(
            .invalidSetting, during: "read \(variable)",
            hint: "set \(variable) to \(values)")
    }

    /// Waits until no other thread asks. A caller with a cancellation checks it every 50 ms, and
    /// then rejoins the queue at its end.
    static func takeTurn(
        _ cancellation: Cancellation?, until deadline: Deadline
    ) throws(SystemError) {
        guard let cancellation else {
            guard turn.acquire(before: deadline) else { throw SystemError.asking(.timedOut) }
            return
        }
        while !cancellation.isCancelled {
            let pause = min(deadline.remaining, .milliseconds(50))
            if turn.acquire(before: Deadline(after: pause)) { return }
            if deadline.hasPassed { throw SystemError.asking(.timedOut) }
        }
        throw SystemError.asking(.cancelled)
    }

    private func givenDescriptor() throws(SystemError) -> PasscodeDescriptor? {
        if let descriptor { return descriptor }
        guard let text = variable else { return nil }
        return try .ofVariable(text)
    }

    private func askPerson(
        _ prompt: PasscodePrompt, until deadline: Deadline
    ) throws(SystemError) -> SecretBytes {
        let device = TerminalDevice()
        let (isTerminal, isInBackground) = (device.isTerminal, device.isInBackground)
        let isUsable = isTerminal && !isInBackground
        if prefersTerminal, isUsable {
            return try Self.ask(prompt, on: device, until: deadline)
        }
        let program = try pinentry(usesTerminal: isUsable && device.isControlling)
        do {
            if let program { return try program.ask(prompt, until: deadline) }
        } catch {
            guard error.code == .pinentryUnusable, isUsable else { throw error }
        }
        if isUsable { return try Self.ask(prompt, on: device, until: deadline) }
        throw Self.nobody(isInBackground: isTerminal)
    }

    static func nobody(isInBackground: Bool) -> SystemError {
        if isInBackground {
            return SystemError.asking(
                .inBackground, hint: "bring it to the foreground with 'fg'")
        }
        return SystemError.asking(
            .nobodyThere,
            hint: "use a terminal, install a pinentry, or give the passcode through a descriptor")
    }

    /// The pinentry program, if there is one with a screen or a terminal to use.
    func pinentry(usesTerminal: Bool) throws(SystemError) -> PinentryProgram? {
        let isChosen = environment.value("VALET_PINENTRY")?.isEmpty == false
        guard isChosen || usesTerminal || ChildEnvironment.hasScreen(environment) else {
            return nil
        }
        let search = PinentrySearch(
            environment: environment, isProgram: GivenFile.isProgram,
            contents: { TextFile.contents($0) })
        return try search.program().map {
            PinentryProgram(path: $0, environment: environment, usesTerminal: usesTerminal)
        }
    }

    private static func ask(
        _ prompt: PasscodePrompt, on device: consuming TerminalDevice, until deadline: Deadline
    ) throws(SystemError) -> SecretBytes {
        var prompter = TerminalPrompter(device, until: deadline)
        return try prompt.answer(from: &prompter)
    }
}

/// Messages that ask a person to do something other than type.
extension PasscodeAsker {
    /// Shows `prompt` and returns when the person chooses `alternative`.
    ///
    /// A pinentry is used only with a window: killed on a terminal, it would leave its drawing
    /// there. On a terminal, Enter chooses the alternative, or declines if there is none. Other
    /// input is neither shown nor used. The prompt's `label` and its settings for entries are
    /// ignored.
    /// - Parameter alternative: The text of the button; nil if there is nothing to choose.
    /// - Throws: `cancelled` if the person declined, and after a cancellation; `timedOut`;
    ///   the reason if there is no place to show it; `malformed`.
    package func tell(
        _ prompt: PasscodePrompt, offering alternative: String?, until deadline: Deadline
    ) throws(SystemError) {
        let alternative = alternative.map(PromptText.line)
        try showing(prompt, until: deadline) { (program) throws(SystemError) in
            try program.tell(prompt, offering: alternative, until: deadline)
        } orOnTerminal: { (device) throws(SystemError) in
            try Self.tell(prompt, alternative, on: device, until: deadline)
        }
    }

    /// Lets the person choose one of several answers, and returns its index.
    ///
    /// Where and how as ``tell(_:offering:until:)``. On a terminal, the number of an answer chooses
    /// it, and everything else declines. The prompt's `cancelTitle` is the button that declines.
    /// - Parameter answers: At least one, and at most nine; the last one allows least.
    /// - Throws: As ``tell(_:offering:until:)``.
    package func choose(
        _ prompt: PasscodePrompt, among answers: [String], until deadline: Deadline
    ) throws(SystemError) -> Int {
        let answers = answers.map(PromptText.line)
        return try showing(prompt, until: deadline) { (program) throws(SystemError) in
            try program.choose(prompt, among: answers, until: deadline)
        } orOnTerminal: { (device) throws(SystemError) in
            try Self.choose(prompt, answers, on: device, until: deadline)
        }
    }

    private func showing<R>(
        _ prompt: PasscodePrompt, until deadline: Deadline,
        _ inWindow: (PinentryProgram) throws(SystemError) -> R,
        orOnTerminal onTerminal: (borrowing TerminalDevice) throws(SystemError) -> R
    ) throws(SystemError) -> R {
        try checkThatAskingIsOn()
        try Self.takeTurn(prompt.cancellation, until: deadline)
        defer { Self.turn.release() }
        let device = TerminalDevice()
        let (isTerminal, isInBackground) = (device.isTerminal, device.isInBackground)
        let isUsable = isTerminal && !isInBackground
        if !(prefersTerminal && isUsable), let program = try pinentry(usesTerminal: false) {
            do {
                return try inWindow(program)
            } catch {
                guard error.code == .pinentryUnusable, isUsable else { throw error }
            }
        }
        guard isUsable else { throw Self.nobody(isInBackground: isTerminal) }
        return try onTerminal(device)
    }

    private static func choose(
        _ prompt: PasscodePrompt, _ answers: [String], on device: borrowing TerminalDevice,
        until deadline: Deadline
    ) throws(SystemError) -> Int {
        let lines = answers.enumerated().map { "\($0 + 1): \($1)\n" }.joined()
        let line = try device.readHiddenLine(
            "\(prompt.description)\n\(lines)Enter alone: \(prompt.cancelTitle ?? "Cancel")\n",
            cancellation: prompt.cancellation, refusesMore: false, until: deadline)
        let typed = line.withBytes { bytes in
            bytes.count == 2 && bytes[1] == 0x0A ? Int(bytes[0]) - 0x31 : -1
        }
        guard answers.indices.contains(typed) else { throw SystemError.asking(.cancelled) }
        return typed
    }

    private static func tell(
        _ prompt: PasscodePrompt, _ alternative: String?, on device: borrowing TerminalDevice,
        until deadline: Deadline
    ) throws(SystemError) {
        let text = prompt.previousError ?? prompt.description
        let key = alternative ?? prompt.cancelTitle ?? "Cancel"
        let line = try device.readHiddenLine(
            "\(text)\n\(key): press Enter.\n", cancellation: prompt.cancellation,
            refusesMore: false, until: deadline)
        guard line.byteCount > 0, alternative != nil else { throw SystemError.asking(.cancelled) }
    }
}
