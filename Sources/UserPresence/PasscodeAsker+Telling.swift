// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

/// Telling a person to do something else than type.
extension PasscodeAsker {
    /// Shows `prompt` until the person prefers `alternative`, and then returns.
    ///
    /// A pinentry gets a window or nothing: killed on a terminal, it would leave its drawing there.
    /// On a terminal Enter chooses the alternative, or declines where there is none; what is typed
    /// before it is not shown, and read by nobody. `label` and what the prompt says of entries mean
    /// nothing.
    /// - Parameter alternative: What stands on the button that is chosen; nil if there is nothing
    ///   to choose.
    /// - Throws: `cancelled` if the person declined, and after a cancellation; `timedOut`;
    ///   `unavailable` with the reason if there is no place to show it; `malformed`.
    package func tell(
        _ prompt: PasscodePrompt, offering alternative: String?, until deadline: Deadline
    ) throws(UserPresenceError) {
        try checkThatAskingIsOn()
        try Self.takeTurn(prompt.cancellation, until: deadline)
        defer { Self.turn.release() }
        let alternative = alternative.map(PromptText.line)
        let device = TerminalDevice()
        let (isTerminal, isInBackground) = (device.isTerminal, device.isInBackground)
        let isUsable = isTerminal && !isInBackground
        if !(prefersTerminal && isUsable), let program = try pinentry(usesTerminal: false) {
            do throws(UserPresenceError) {
                return try program.tell(prompt, offering: alternative, until: deadline)
            } catch {
                guard error.code == .unavailable(.pinentry), isUsable else { throw error }
            }
        }
        guard isUsable else { throw Self.nobody(isInBackground: isTerminal) }
        try Self.tell(prompt, alternative, on: device, until: deadline)
    }

    private static func tell(
        _ prompt: PasscodePrompt, _ alternative: String?, on device: borrowing TerminalDevice,
        until deadline: Deadline
    ) throws(UserPresenceError) {
        let text = prompt.previousError ?? prompt.description
        let key = alternative ?? prompt.cancelTitle ?? "Cancel"
        let line = try device.readHiddenLine(
            "\(text)\n\(key): press Enter.\n", cancellation: prompt.cancellation,
            refusesMore: false, until: deadline)
        guard line.byteCount > 0, alternative != nil else { throw UserPresenceError(.cancelled) }
    }
}
