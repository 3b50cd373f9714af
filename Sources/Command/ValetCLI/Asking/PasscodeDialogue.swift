// SPDX-License-Identifier: Apache-2.0

// Asks for passcodes and other secrets, judges the answers, and asks again.

package import ValetKeychainModel
package import ValetKeychainStore
package import ValetSealing
package import ValetSystem
package import ValetUserPresence

/// Asks for the passcodes of one command: the current one, and a new one.
package struct PasscodeDialogue {
    /// Supplies the current passcode.
    let current: any SecretSource
    /// Supplies the new passcode.
    let new: any SecretSource

    /// How long a person has to choose a new passcode.
    private static let timeToChoose = Duration.seconds(180)

    /// Runs `body` with the keychain's passcode. A person has three tries.
    ///
    /// - Parameters:
    ///   - purpose: What the passcode is needed for: "Unlock the keychain.".
    ///   - insisting: Whether to try the passcode even if the TPM has few tries left.
    /// - Throws: ``ExitCode/denied`` for a wrong passcode.
    func withPasscode<R>(
        for purpose: String, insisting: Bool = false,
        _ body: (Passcode) throws(KeychainFailure) -> R
    ) throws(CLIError) -> R {
        try current.answer { problem in
            PasscodePrompt(description: purpose, previousError: problem)
        } _: { (answer) throws(CLIError) in
            do throws(KeychainFailure) {
                return .accepted(
                    try body(try Passcode(answer, insisting: insisting)))
            } catch {
                guard error.code == .authenticationFailed else { throw CLIError(error) }
                return .refused(CLIError(.denied, error.message))
            }
        }
    }

    /// Asks for the passcode of `store` and checks it; nil if the keychain has none.
    package func passcode(
        of store: ItemStore, for purpose: String
    ) throws(CLIError) -> Passcode? {
        let status = try requesting(store.keychain.status())
        guard status.lockStateProvider != nil else { return nil }
        return try currentPasscode(of: store, for: purpose)
    }

    /// Asks for the passcode of `store`, which must have one, and checks it.
    func currentPasscode(
        of store: ItemStore, for purpose: String
    ) throws(CLIError) -> Passcode {
        try withPasscode(for: purpose) { (passcode) throws(KeychainFailure) in
            try store.keychain.check(passcode)
            return passcode
        }
    }

    /// A new passcode. A person types it twice.
    ///
    /// - Throws: ``ExitCode/usage`` for a short passcode, unless `allowingWeak`.
    func choose(allowingWeak: Bool, for purpose: String) throws(CLIError) -> Passcode {
        try new.answer { problem in
            prompt(
                allowingWeak ? purpose : purpose + " It needs at least 8 characters.",
                "New passcode", problem)
        } _: { (first) throws(CLIError) in
            let passcode = try Self.passcode(first.copied())
            guard allowingWeak || !passcode.isShort else { return .refused(Self.weakness) }
            guard new.isInteractive else { return .accepted(passcode) }
            let isRepeated = try isRepeated(first)
            return isRepeated ? .accepted(passcode) : .refused(Self.mismatch)
        }
    }

    private func isRepeated(_ first: borrowing SecretBytes) throws(CLIError) -> Bool {
        do {
            let second = try new.ask(prompt("Once more.", "New passcode, again", nil))
            return second.isEqual(to: first)
        } catch {
            throw CLIError(error)
        }
    }

    private static func passcode(
        _ answer: consuming SecretBytes
    ) throws(CLIError) -> Passcode {
        do {
            return try Passcode(answer)
        } catch {
            throw CLIError(error)
        }
    }

    private func prompt(
        _ purpose: String, _ label: String, _ problem: String?
    ) -> PasscodePrompt {
        var prompt = PasscodePrompt(description: purpose, label: label, previousError: problem)
        prompt.timeout = Self.timeToChoose
        return prompt
    }

    private static let weakness = CLIError.usage(
        "the passcode has fewer than 8 characters",
        hint: "a thief of the disk can guess it: choose a longer one, or use '--weak'")
    private static let mismatch = CLIError(.failure, "the two passcodes differ")
}

extension SecretBytes {
    /// A copy of the bytes, in guarded memory as well.
    borrowing func copied() -> SecretBytes { withBytes { SecretBytes(copying: $0) } }
}

/// Answers questions for secrets: ``PasscodeAsker``, or a stand-in for it.
package protocol SecretSource {
    /// Whether a person answers, who can see an error message and be asked again.
    var isInteractive: Bool { get }
    /// Gets one answer.
    func ask(_ prompt: PasscodePrompt) throws(SystemError) -> SecretBytes
}

extension PasscodeAsker: SecretSource {}

extension SecretSource {
    /// A person has three tries, a descriptor one.
    private var tryCount: Int { isInteractive ? 3 : 1 }

    /// Asks, and lets `body` judge the answer. Asks a person again if `body` refuses it.
    ///
    /// - Parameters:
    ///   - secret: What the secret is called in errors.
    ///   - body: Judges an answer. The error of the last refused answer is thrown.
    package func answer<R: ~Copyable>(
        naming secret: SecretName = .passcode, to prompt: (_ problem: String?) -> PasscodePrompt,
        _ body: (consuming SecretBytes) throws(CLIError) -> Judgement<R>
    ) throws(CLIError) -> R {
        var last: (error: CLIError, problem: String)?
        for _ in 0..<tryCount {
            let answer: SecretBytes
            do {
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

extension Context {
    /// Asks for a secret that is not in the keychain, or reads it from the descriptor of
    /// `option`.
    package func answer<R: ~Copyable>(
        naming name: String, _ description: String, _ option: OptionDeclaration,
        in values: ParsedValues, _ judge: (consuming SecretBytes) throws(CLIError) -> Judgement<R>
    ) throws(CLIError) -> R {
        let secrets = otherSecrets(try KeyOptions.descriptor(option, values))
        return try secrets.answer(naming: SecretName(text: name, option: option)) { problem in
            var prompt = PasscodePrompt(
                description: description, label: name.prefix(1).uppercased() + name.dropFirst(),
                previousError: problem)
            prompt.timeout = .seconds(300)
            return prompt
        } _: { (answer) throws(CLIError) in
            try judge(answer)
        }
    }
}

/// Whether an answer is accepted.
package enum Judgement<R: ~Copyable>: ~Copyable {
    case accepted(R)
    /// A person sees the problem (the error's message if it is nil) and is asked again. After the
    /// last try the command ends with the error.
    case refused(CLIError, problem: String? = nil)
}

/// The name of a secret in errors. The module that asks for it calls every secret a passcode.
package struct SecretName {
    let text: String
    /// The option that names a descriptor for the secret, for hints; nil for the passcode, which
    /// has a variable too.
    let option: OptionDeclaration?

    static let passcode = SecretName(text: "passcode", option: nil)

    /// A secret whose descriptor `option` names.
    package init(text: String, option: OptionDeclaration?) {
        self.text = text
        self.option = option
    }

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
    /// The error if the question for `secret` gets no answer.
    init(_ error: SystemError, asking secret: SecretName) {
        let general = CLIError(error)
        var hint = general.hint.map(secret.renamed)
        switch error.code {
        case .nobodyThere, .interactionOff:
            if let option = secret.option {
                hint = "pass the \(secret.text) with '\(option.spelling)'"
            }
        default: break
        }
        self.init(general.code, secret.renamed(general.message), hint: hint)
    }
}
