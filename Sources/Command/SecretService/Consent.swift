// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

/// A yes of a person: a program may use collections for which the policy says 'ask'.
struct Consent: Sendable {
    enum Term: Sendable {
        /// For the next secret that the connection gets or changes.
        case once
        /// For the connection, until the keychain is locked.
        case untilLock
        /// For the program, until somebody takes it back. The keychain keeps it.
        case always

        /// The text of its button.
        var title: String {
            switch self {
            case .once: "Once"
            case .untilLock: "Until locked"
            case .always: "Always"
            }
        }

        /// What can be offered to a program, and how: the most useful answer first.
        static func offered(to program: AskingProgram) -> [Term] {
            program.lasting == nil ? [.untilLock, .once] : [.untilLock, .always, .once]
        }
    }

    let term: Term
    let collections: Set<String>
    /// The period between two locks in which it was given.
    let period: LockPeriod
    /// Why a lasting yes could not be kept, if so. It then ends with the next lock.
    var problem: String?

    init(_ term: Term, _ collections: Set<String>, _ period: LockPeriod) {
        (self.term, self.collections, self.period) = (term, collections, period)
    }

    /// Keeps a lasting yes of now. If that fails, the yes ends with the next lock.
    func kept(for program: AskingProgram, in session: KeychainSession) -> Consent {
        guard term == .always, let lasting = program.lasting else { return self }
        do throws(KeychainFailure) {
            try session.keep(
                collections.sorted().map { name in
                    AccessGrant(lasting, collection: name, since: SessionItems.now)
                })
            return self
        } catch {
            var consent = Consent(.untilLock, collections, period)
            consent.problem = error.message
            return consent
        }
    }
}

extension UnlockPrompt {
    /// Asks whether a program may use the collections, and for how long.
    func confirm(
        _ session: KeychainSession, _ program: AskingProgram
    ) -> (DesktopQuestion.Answer, Consent?) {
        let known = Self.grants(to: program, in: session)
        // A program may have waited for the passcode, before which nothing was known of it.
        let asked = collections.filter { name in
            !known.contains { $0.collection == name && $0.program == program.lasting }
        }
        let terms = Consent.Term.offered(to: program)
        let question = DesktopQuestion(
            lines: Self.lines(
                program, asked, hasChanged: known.contains { $0.program != program.lasting }),
            cancellation)
        let choice: DesktopQuestion.Choice =
            asked.isEmpty
            ? .chosen(0) : question.choose(among: terms.map(\.title), orElse: "Deny")
        switch choice {
        case .no: return (.no, nil)
        case .failed(let reason): return (.failed(reason), nil)
        case .chosen(let index):
            guard let period = try? session.store.keychain.lockPeriod() else { return (.yes, nil) }
            let consent = Consent(terms[index], asked, period)
            return (.yes, consent.kept(for: program, in: session))
        }
    }

    /// The grants to the program at the path of this one, or to the sandbox. What cannot be read is
    /// not known.
    private static func grants(
        to program: AskingProgram, in session: KeychainSession
    ) -> [AccessGrant] {
        guard let name = program.lasting?.name ?? program.executable?.formerPath else { return [] }
        return (try? session.grants(of: name).grants) ?? []
    }

    /// What the person reads. What must not be cut off comes first.
    ///
    /// - Parameter hasChanged: Whether there is a lasting yes to another version of the program.
    static func lines(
        _ program: AskingProgram, _ collections: Set<String>, hasChanged: Bool
    ) -> [String] {
        let names = collections.sorted().map { "'\($0)'" }.joined(separator: ", ")
        var lines = [wish(of: program)]
        if hasChanged { lines.append("The program has changed since you allowed it always.") }
        if program.runsScripts {
            lines.append("It runs scripts, and a yes is for each of them.")
        }
        return lines + ["It asks for \(names)."]
    }
}
