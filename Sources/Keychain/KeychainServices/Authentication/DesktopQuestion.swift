// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
package import ValetKeychainStore
package import ValetSystem
internal import ValetUserPresence

/// A question to the person at the desktop, through pinentry, on behalf of another program.
package struct DesktopQuestion: Sendable {
    package enum Answer: Sendable {
        case yes
        /// The user declined, the question was cancelled, or three passcodes were wrong.
        case no
        case failed(String)
    }

    private let lines: [String]
    private let cancellation: Cancellation

    /// A long line is cut at its end, and hides no other.
    package init(lines: [String], _ cancellation: Cancellation) {
        (self.lines, self.cancellation) = (lines, cancellation)
    }

    /// Why nobody can be asked; nil if somebody can.
    package static func obstacle() -> String? {
        do {
            try PasscodeAsker.forProcess().checkThatSomebodyIsThere()
            return nil
        } catch {
            return ["\(error)", error.hint].compactMap(\.self).joined(separator: ": ")
        }
    }

    private func prompt(after problem: String? = nil) -> PasscodePrompt {
        var prompt = PasscodePrompt(lines: lines, previousError: problem)
        prompt.cancellation = cancellation
        return prompt
    }

    package enum Choice: Sendable {
        /// The answer of that index.
        case chosen(Int)
        /// The user declined, or the question was cancelled.
        case no
        case failed(String)
    }

    /// Lets the user choose one of several answers.
    ///
    /// - Parameters:
    ///   - answers: The last one allows least.
    ///   - refusal: The text of the button that declines.
    package func choose(among answers: [String], orElse refusal: String) -> Choice {
        var prompt = prompt()
        prompt.cancelTitle = refusal
        do {
            return .chosen(
                try PasscodeAsker.forProcess().choose(
                    prompt, among: answers, until: Deadline(after: prompt.timeout)))
        } catch {
            return error.code == .cancelled ? .no : .failed("\(error)")
        }
    }

    /// Asks for the passcode, three times at most, and unlocks the keychain with it.
    ///
    /// - Parameter period: Becomes the one of the moment before the unlock: a lock after that is
    ///   another one's.
    package func unlock(_ keychain: Keychain, in period: inout LockPeriod?) -> Answer {
        var problem: String?
        for _ in 0..<3 {
            let typed: Passcode
            do {
                typed = try Passcode(try PasscodeAsker.forProcess().ask(prompt(after: problem)))
            } catch let error as SystemError where error.code == .cancelled {
                return .no
            } catch {
                return .failed("\(error)")
            }
            do {
                period = try keychain.lockPeriod()
                try keychain.unlock(typed, for: nil)
                return .yes
            } catch {
                guard error.code == .authenticationFailed else { return .failed("\(error)") }
                problem = error.message
            }
        }
        return .no
    }
}
