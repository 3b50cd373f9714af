// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem
internal import ValetUserPresence

/// Gets an application's password: the credential that the application has set, else what the user
/// types (spec/secitem.md §10.4). Stretches it outside of every transaction and file lock.
struct PasswordAuthentication {
    let question: SecretQuestion
    let credential: SecretValue?

    /// The passwords that open one of `locks`: those of `known`, and the credential. Does not ask
    /// the user.
    func given(
        opening locks: [PassphraseBox], known: [StretchedPassword]
    ) throws(KeychainFailure) -> [StretchedPassword] {
        let opened = known.filter { password in locks.contains { password.opens($0) } }
        guard let credential else { return opened }
        let typed = credential.withBytes { SecretBytes(copying: $0) }
        return try opened + stretched(typed, opening: Self.closed(locks, opened))
    }

    /// Passwords that open all of `locks`, typed by the user.
    ///
    /// Each password is tried on all locks that are still closed. The call fails after three
    /// passwords in a row that open nothing.
    func typed(
        opening locks: [PassphraseBox]
    ) throws(KeychainFailure) -> [StretchedPassword] {
        try question.checkThatSomebodyIsThere()
        let line = "\(question.means.application()) asks for the password of an item."
        var opened: [StretchedPassword] = []
        var closed = locks
        var left = SecretQuestion.tryCount
        var problem: String?
        while !closed.isEmpty {
            let typed = try question.ask(line, label: Self.label, problem: problem)
            let found = try stretched(typed, opening: closed)
            opened += found
            closed = Self.closed(closed, found)
            if found.isEmpty {
                left -= 1
                guard left > 0 else { throw .refused(.wrongAnswer) }
                problem = SecretQuestion.wrong("password", triesLeft: left)
            } else {
                (left, problem) = (SecretQuestion.tryCount, nil)
            }
        }
        return opened
    }

    /// The password for new values: the credential, or what the user types twice.
    func new(_ stretching: PasscodeStretching) throws(KeychainFailure) -> StretchedPassword {
        let typed: SecretBytes
        if let credential {
            typed = credential.withBytes { SecretBytes(copying: $0) }
        } else {
            try question.checkThatSomebodyIsThere()
            typed = try question.ask(
                "\(question.means.application()) asks for a new password for an item.",
                label: Self.label, isNew: true)
        }
        return try StretchedPassword(new: typed, stretching)
    }

    private static let label = "Password"

    private func stretched(
        _ typed: borrowing SecretBytes, opening locks: [PassphraseBox]
    ) throws(KeychainFailure) -> [StretchedPassword] {
        var opened: [StretchedPassword] = []
        for lock in locks {
            // Stretching takes as long as the box demands, and a search may find many boxes.
            guard !question.deadline.hasPassed else { throw .refused(.noAnswer) }
            guard !question.cancellation.isCancelled else { throw .refused(.endedByApplication) }
            let password = try StretchedPassword(typed, for: lock)
            if password.opens(lock) { opened.append(password) }
        }
        return opened
    }

    /// Those of `locks` that none of `passwords` opens.
    static func closed(
        _ locks: [PassphraseBox], _ passwords: [StretchedPassword]
    ) -> [PassphraseBox] {
        locks.filter { lock in !passwords.contains { $0.opens(lock) } }
    }
}
