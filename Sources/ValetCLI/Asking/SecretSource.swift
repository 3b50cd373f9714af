// SPDX-License-Identifier: Apache-2.0

internal import SecretMemory
internal import UserPresence

/// Who answers questions for secrets: ``PasscodeAsker``, or a stand-in for it.
protocol SecretSource {
    /// Whether a person answers, who may be told what was wrong and be asked again.
    var isInteractive: Bool { get }
    /// Gets one answer.
    func ask(_ prompt: PasscodePrompt) throws(UserPresenceError) -> SecretBytes
}

extension PasscodeAsker: SecretSource {}

extension SecretSource {
    /// How often a person may try.
    private var tryCount: Int { isInteractive ? 3 : 1 }

    /// Asks, and has `body` judge the answer; asks a person again if it says so.
    ///
    /// - Parameters:
    ///   - name: What is asked for; the module that asks speaks of passcodes.
    ///   - body: Judges an answer; of the last one that is refused the error is thrown.
    func answer<R>(
        naming name: String = "passcode", to prompt: (_ problem: String?) -> PasscodePrompt,
        _ body: (consuming SecretBytes) throws(CLIError) -> Judgement<R>
    ) throws(CLIError) -> R {
        var last: CLIError?
        for _ in 0..<tryCount {
            let answer: SecretBytes
            do throws(UserPresenceError) {
                answer = try ask(prompt(last?.message))
            } catch {
                throw CLIError(error, asking: name)
            }
            switch try body(answer) {
            case .accepted(let result): return result
            case .refused(let error): last = error
            }
        }
        throw last ?? CLIError(.failure, "nobody was asked")
    }
}

/// What became of an answer.
enum Judgement<R> {
    case accepted(R)
    /// A person is told the message and asked again, or else the command ends with the error.
    case refused(CLIError)
}

extension CLIError {
    /// What it means that nobody answered a question for what is called `name`.
    init(_ error: UserPresenceError, asking name: String) {
        let general = CLIError(error)
        self.init(
            general.code, general.message.replacing("passcode", with: name),
            hint: general.hint?.replacing("passcode", with: name))
    }
}
