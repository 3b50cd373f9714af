// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

// Prompts (Secret Service API 0.2, "Prompts and Prompting"). There is one passcode, so there is one
// question for it: programs whose prompts begin while it is open get its answer.

extension SecretService {
    func planPrompt(_ call: borrowing BusMessage, _ object: ObjectPath) -> Plan {
        let client = call.sender
        guard case .prompt(let number) = object, let prompt = clients[client]?.prompts[number],
            let program = clients[client]?.caller?.view?.program
        else {
            return .refuse(.noSuchObject, "there is no such prompt of this client")
        }
        guard call.member != "Dismiss" else {
            prompt.cancellation.cancel()
            if prompt.stage != .asked { inbox.add(.prompted(number, .no, nil)) }
            return .now(.nothing)
        }
        guard prompt.stage == .made else { return .now(.nothing) }
        clients[client]?.prompts[number]?.program = program
        let inbox = inbox
        return .changing { (_) throws(KeychainFailure) in
            if let reason = PersonCheck.obstacle() { return .refusal(.failed, reason) }
            inbox.add(.promptBegun(client, number))
            return .nothing
        }
    }

    /// Asks the person, unless another question is open. The time for an answer begins then.
    func begin(_ number: UInt64, of client: String) {
        guard let prompt = clients[client]?.prompts[number], let program = prompt.program,
            let owner = clients[client]?.caller?.owner, [.made, .queued].contains(prompt.stage)
        else { return }
        guard !prompt.isForPasscode || passcodeQuestion == nil else {
            clients[client]?.prompts[number]?.stage = .waiting
            return
        }
        guard openQuestion == nil else {
            clients[client]?.prompts[number]?.stage = .queued
            return
        }
        clients[client]?.prompts[number]?.stage = .asked
        openQuestion = number
        questionCount += 1
        owner.lastQuestion = questionCount
        if prompt.isForPasscode { passcodeQuestion = number }
        let inbox = inbox
        prompt.ask(holdings.list.session, onBehalfOf: program) { outcome, consent in
            inbox.add(.prompted(number, outcome, consent))
        }
    }

    /// Asks the next question that has waited: of the program that was asked for least recently, so
    /// that nobody can keep others waiting.
    private func beginQueued() {
        let queued = clients.flatMap { name, client in
            client.prompts.filter { $0.value.stage == .queued }.keys.map { number in
                (order: client.caller?.owner?.lastQuestion ?? 0, number: number, name: name)
            }
        }
        for next in queued.sorted(by: { ($0.order, $0.number) < ($1.order, $1.number) })
        where openQuestion == nil { begin(next.number, of: next.name) }
    }

    /// Completes the prompt of a question that has its answer, and those that waited for it.
    func complete(
        _ number: UInt64, _ outcome: DesktopQuestion.Answer, _ consent: Consent?
    ) throws(SystemError) {
        if openQuestion == number { openQuestion = nil }
        defer { beginQueued() }
        // Clients only hear that it was dismissed.
        if case .failed(let reason) = outcome {
            note("valet: warning: the keychain was not unlocked: \(reason)")
        }
        if let problem = consent?.problem {
            note("valet: warning: 'always' counts until the next lock only: \(problem)")
        }
        let found = clients.first { $0.value.prompts[number] != nil }
        let isDismissed = found?.value.prompts[number]?.cancellation.isCancelled ?? true
        if let client = found?.key { try complete(number, of: client, outcome, consent) }
        guard number == passcodeQuestion else { return }
        passcodeQuestion = nil
        for (client, state) in clients {
            for (number, prompt) in state.prompts where prompt.stage == .waiting {
                clients[client]?.prompts[number]?.stage = .made
                if case .no = outcome, isDismissed {
                    // Its program has withdrawn the question, and nobody has answered it.
                    begin(number, of: client)
                } else if case .yes = outcome, !prompt.collections.isEmpty {
                    // The person has seen the name of another program.
                    begin(number, of: client)
                } else {
                    try complete(number, of: client, outcome, nil)
                }
            }
        }
    }

    /// Ends the question for the passcode, because the keychain was unlocked in another way. A
    /// program that a person has to agree to still needs an answer.
    func endPasscodeQuestion() {
        guard let number = passcodeQuestion else { return }
        for state in clients.values {
            guard let prompt = state.prompts[number], prompt.collections.isEmpty else { continue }
            prompt.cancellation.cancel()
        }
    }

    private func complete(
        _ number: UInt64, of client: String, _ outcome: DesktopQuestion.Answer,
        _ consent: Consent?
    ) throws(SystemError) {
        guard let state = clients[client], let prompt = state.prompts[number] else { return }
        guard case .yes = outcome, isStill(prompt, state),
            prompt.collections.isEmpty || consent != nil
        else { return try emitCompleted(number, of: client, nil) }
        state.prompts[number]?.stage = .answered
        if let consent { state.access?.add(consent) }
        lookUpGrants(of: state)
        for name in prompt.collections { try emitLocked(false, name, to: client) }
        let (inbox, objects) = (inbox, prompt.objects)
        let holdings = holdings.seen(by: clients[client]?.access)
        // Programs read the label of an item as soon as they hear that it is unlocked.
        tellSeenItems(to: client) {
            // What cannot be looked up now is unlocked as far as anybody knows.
            let present = (try? holdings.present(objects)) ?? objects
            inbox.add(.completed(client, number, present))
        }
    }

    /// Whether the client still is the program that the person was shown, if that counts.
    private func isStill(_ prompt: UnlockPrompt, _ client: Client) -> Bool {
        guard let access = client.access else { return true }
        guard let shown = prompt.program else { return false }
        return access.program.isThere && access.program.isSame(as: shown)
    }

    /// Tells the client of a prompt how it ended.
    ///
    /// - Parameter objects: What is unlocked; nil if the prompt was dismissed.
    func emitCompleted(
        _ number: UInt64, of client: String, _ objects: [String]?
    ) throws(SystemError) {
        guard clients[client]?.prompts.removeValue(forKey: number) != nil else { return }
        owner(of: client)?.promptCount -= 1
        try bus.emit(
            "Completed", of: Interface.prompt.rawValue, at: ObjectPath.prompt(number).text,
            to: client
        ) { message in
            message.write(objects == nil)
            message.write(variant: "ao") { message.write(objects ?? [], as: "o") }
        }
    }
}
