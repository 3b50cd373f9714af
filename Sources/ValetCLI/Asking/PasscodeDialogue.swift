// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetUserPresence

/// Asks for the passcodes of one command.
struct PasscodeDialogue {
    /// Gives the passcode that is set.
    let current: any SecretSource
    /// Gives the one that is to be set.
    let new: any SecretSource

    /// How long a person has to think of a new passcode.
    private static let timeToChoose = Duration.seconds(180)

    /// Runs `body` with the keychain's passcode; a person who mistypes it is asked again.
    ///
    /// - Parameters:
    ///   - purpose: What it is needed for: "Unlock the keychain.".
    ///   - insisting: Whether a TPM is to try it even if few tries are left.
    /// - Throws: ``ExitCode/denied`` for a wrong one.
    func withPasscode<R>(
        for purpose: String, insisting: Bool = false,
        _ body: (KeychainPasscode) throws(KeychainFailure) -> R
    ) throws(CLIError) -> R {
        try current.answer { problem in
            PasscodePrompt(description: purpose, previousError: problem)
        } _: { (answer) throws(CLIError) in
            do throws(KeychainFailure) {
                return .accepted(
                    try body(try KeychainPasscode(answer, insisting: insisting)))
            } catch {
                guard error.code == .authenticationFailed else { throw CLIError(error) }
                return .refused(CLIError(.denied, error.message))
            }
        }
    }

    /// The passcode that `store` has, which was tried; nil if it has none.
    func passcode(
        of store: ItemStore, for purpose: String
    ) throws(CLIError) -> KeychainPasscode? {
        let status = try asking { () throws(KeychainFailure) in try store.status() }
        guard status.lockStateProvider != nil else { return nil }
        return try currentPasscode(of: store, for: purpose)
    }

    /// The passcode of `store`, which has one; it was tried.
    func currentPasscode(
        of store: ItemStore, for purpose: String
    ) throws(CLIError) -> KeychainPasscode {
        try withPasscode(for: purpose) { (passcode) throws(KeychainFailure) in
            try store.check(passcode)
            return passcode
        }
    }

    /// A new passcode, which a person types twice.
    ///
    /// - Throws: ``ExitCode/usage`` for a short one, unless `allowingWeak`.
    func choose(allowingWeak: Bool, for purpose: String) throws(CLIError) -> KeychainPasscode {
        try new.answer { problem in
            prompt(
                allowingWeak ? purpose : purpose + " It has at least 8 characters.",
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
        do throws(UserPresenceError) {
            let second = try new.ask(prompt("Once more.", "New passcode, again", nil))
            return second.isEqual(to: first)
        } catch {
            throw CLIError(error)
        }
    }

    private static func passcode(
        _ answer: consuming SecretBytes
    ) throws(CLIError) -> KeychainPasscode {
        do throws(KeychainFailure) {
            return try KeychainPasscode(answer)
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
        hint: "who has the disk can guess it: choose a longer one, or use '--weak'")
    private static let mismatch = CLIError(.failure, "the two passcodes differ")
}

extension SecretBytes {
    /// The same bytes once more, in guarded memory too.
    borrowing func copied() -> SecretBytes { withBytes { SecretBytes(copying: $0) } }
}
