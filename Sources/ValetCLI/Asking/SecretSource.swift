// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory
internal import ValetUserPresence

/// Answers questions for secrets: ``PasscodeAsker``, or a stand-in for it.
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
    ///   - secret: What is asked for.
    ///   - body: Judges an answer; of the last one that is refused the error is thrown.
    func answer<R: ~Copyable>(
        naming secret: SecretName = .passcode, to prompt: (_ problem: String?) -> PasscodePrompt,
        _ body: (consuming SecretBytes) throws(CLIError) -> Judgement<R>
    ) throws(CLIError) -> R {
        var last: (error: CLIError, problem: String)?
        for _ in 0..<tryCount {
            let answer: SecretBytes
            do throws(UserPresenceError) {
                answer = try ask(prompt(last?.problem))
            } catch {
                throw CLIError(error, asking: secret)
            }
            switch try body(answer) {
            case .accepted(let result): return result
            case .refused(let error, let problem): last = (error, problem ?? error.message)
            }
        }
        throw last?.error ?? CLIError(.failure, "nobody was asked")
    }
}

/// What became of an answer.
enum Judgement<R: ~Copyable>: ~Copyable {
    case accepted(R)
    /// A person is told the problem, which is the error's message if it is nil, and asked again;
    /// or else the command ends with the error.
    case refused(CLIError, problem: String? = nil)
}

/// What a secret is called; the module that asks for it speaks of passcodes.
struct SecretName {
    let text: String
    /// The option that names a descriptor for it, for where nobody is there; nil where there are
    /// other ways.
    let option: OptionDeclaration?

    static let passcode = SecretName(text: "passcode", option: nil)

    /// `message` with this secret in place of each "passcode".
    fileprivate func renamed(_ message: String) -> String {
        let word = "passcode"
        var (renamed, rest) = ("", message[...])
        while let start = rest.indices.first(where: { rest[$0...].hasPrefix(word) }) {
            renamed += rest[..<start] + text
            rest = rest[start...].dropFirst(word.count)
        }
        return renamed + rest
    }
}

extension CLIError {
    /// What it means that nobody answered a question for `secret`.
    init(_ error: UserPresenceError, asking secret: SecretName) {
        let general = CLIError(error)
        var hint = general.hint.map(secret.renamed)
        switch error.code {
        case .unavailable(.nobodyThere), .unavailable(.interactionOff):
            if let option = secret.option {
                hint = "give the \(secret.text) with \(option.spelling)"
            }
        default: break
        }
        self.init(general.code, secret.renamed(general.message), hint: hint)
    }
}
