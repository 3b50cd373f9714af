// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

// Lasting yeses (docs/SECRET-SERVICE.md, "A remembered yes"). They are looked up in the keychain
// for each call, and again before its answer goes out, so that none outlives its removal.

extension SecretService {
    /// Looks up the lasting yeses to the program of a client. What cannot be read now is not known,
    /// and a person is asked.
    func lookUpGrants(of client: Client) {
        guard let access = client.access, access.mayAsk else { return }
        let inbox = inbox
        client.access?.lasting = grants(to: access.program)
        client.access?.noteUse = { grant in
            if grant.isOutdated(at: SessionItems.now) { inbox.add(.used(grant)) }
        }
    }

    /// The lasting yeses to a program, by their collections.
    private func grants(to program: AskingProgram) -> [String: AccessGrant] {
        guard let lasting = program.lasting,
            let list = inbox.known({ () throws(KeychainFailure) in
                try holdings.quick.list.session.grants(of: lasting.name)
            })
        else { return [:] }
        return list.grants.reduce(into: [:]) { found, grant in
            if grant.program == lasting { found[grant.collection] = grant }
        }
    }

    /// Whether none of these yeses to a program was taken back.
    func isStillGranted(_ lasting: [String: AccessGrant], to program: AskingProgram) -> Bool {
        guard !lasting.isEmpty else { return true }
        let now = grants(to: program)
        return lasting.keys.allSatisfy { now[$0] != nil }
    }

    /// Looks up the lasting yeses again, and tells clients which collections that has opened or
    /// closed for them.
    func tellGrants() throws(SystemError) {
        for (name, client) in clients { try tellGrants(to: name, client) }
    }

    /// As ``tellGrants()``, for one client.
    func tellGrants(to name: String, _ client: Client) throws(SystemError) {
        guard let before = client.access, before.mayAsk else { return }
        lookUpGrants(of: client)
        guard let now = client.access else { return }
        let changed = Set(before.lasting.keys).symmetricDifference(now.lasting.keys)
        for collection in changed.sorted()
        where before.access(to: collection) != now.access(to: collection) {
            try emitLocked(now.access(to: collection) != .allow, collection, to: name)
        }
        if !changed.isEmpty { tellSeenItems(to: name) {} }
    }

    /// Ends the yeses of a client that were for one use, which the present call is.
    func endYesForOneUse(of name: String, _ client: Client) throws(SystemError) {
        guard let access = client.access, !access.once.isEmpty else { return }
        client.access = access.afterUse()
        for collection in access.once { try emitLocked(true, collection, to: name) }
    }

    /// Notes in the keychain that a grant is used. The call that uses it waits for nothing, and
    /// does not fail with it.
    func noteUse(of grant: AccessGrant) {
        let now = SessionItems.now
        let key = "\(grant.program.name) \(grant.collection) \(grant.since)"
        var last = grant
        last.lastUse = notedUses[key] ?? grant.lastUse
        guard last.isOutdated(at: now) else { return }
        notedUses[key] = now
        let (session, inbox) = (holdings.list.session, inbox)
        try? BackgroundThread.start {
            do {
                try session.noteUse(of: grant, at: now)
            } catch {
                inbox.add(.useNotNoted(key))
            }
        }
    }
}
