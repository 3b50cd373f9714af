// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// Unlocking, and putting keys in the place of others: docs/FORMAT.md §10.6. The caller holds the
/// writers' lock.
extension SharedKeys {
    /// What is published in place of everything that was published.
    private struct Publication {
        let payloads: [KeyPayload]
        /// The marks that the keys are sealed under, never those at the publication. Example: an
        /// unlock reads mark 7c…, and then a lock writes mark a1…. Keys that are sealed under 7c…
        /// open nothing, so the keychain stays locked.
        let marks: LockMarks
        /// Whether only scopes that are open get keys: true for keys that must unlock nothing.
        var onlyOpenScopes = false
    }

    /// A key of the kernel that no sharing file names yet.
    private struct NewKey {
        let scope: KeyScope
        let entry: SharingEntry
    }

    /// Unlocks: publishes `keys` for `period`, in place of everything that was published.
    ///
    /// - Parameter moment: Before the passcode was checked. A lock since then stays in force.
    /// - Throws: ``KeychainFailure``: `wrongKeys`; `quotaExceeded` if there was no room for half a
    ///   second (the kernel frees room with a delay); `kernelRefuses`; `cannotShare`. After each of
    ///   these, the old keys stay published. `inputOutput` if the page of locks cannot be read;
    ///   nothing is published if that happens at the end.
    func publish(
        _ keys: OpenedKeys, for period: UnlockPeriod, since moment: LockMoment,
        _ now: () -> BootTime
    ) throws(KeychainFailure) {
        try publish(
            Publication(payloads: payloads(keys, period), marks: try marks(at: moment)), now())
    }

    /// The marks at the moment before a passcode was checked. If there was no page then, a page of
    /// now may be a lock.
    private func marks(at moment: LockMoment) throws(KeychainFailure) -> LockMarks {
        guard let marks = moment.marks else {
            throw KeychainFailure(.cannotShare, during: .share, path: places.folder)
        }
        return marks
    }

    /// Puts `keys` in the place of the keys of `former`, after a key change was committed. A
    /// locked keychain stays locked, and an unlocked one keeps its period.
    ///
    /// - Parameters:
    ///   - keys: The new keys; nil to end the former ones.
    ///   - moment: If the change also unlocks the keychain: the marks from before it. A lock after
    ///     that moment is not undone.
    /// - Throws: As ``publish(_:for:_:)``. Then no keys are published.
    func replace(
        _ former: EpochMark, by keys: OpenedKeys?, unlockingSince moment: LockMoment?,
        _ now: () -> BootTime
    ) throws(KeychainFailure) {
        do throws(KeychainFailure) {
            guard let keys,
                let publication = try publication(
                    of: keys, replacing: former, unlockingSince: moment, now)
            else { return end(KeyScope.allCases) }
            try publish(publication, now())
        } catch {
            // The former keys open nothing any more.
            end(KeyScope.allCases)
            throw error
        }
    }

    /// - Returns: nil if no key of `former` is open, and the change unlocks nothing.
    private func publication(
        of keys: OpenedKeys, replacing former: EpochMark, unlockingSince moment: LockMoment?,
        _ now: () -> BootTime
    ) throws(KeychainFailure) -> Publication? {
        // Before the look: a lock since then wins.
        let present = try page.freshMarks()
        let unlocked = try lookUp(.whileUnlocked, of: former, now).found
        let isOpen = try lookUp(.afterFirstUnlock, of: former, now).found != nil
        let payloads = try payloads(keys, unlocked?.payload.period ?? .unlimited)
        if let present, isOpen, unlocked != nil {
            return Publication(payloads: payloads, marks: present, onlyOpenScopes: true)
        }
        if let moment { return Publication(payloads: payloads, marks: try marks(at: moment)) }
        guard let present, isOpen else { return nil }
        return Publication(
            payloads: payloads.filter { $0.scope == .afterFirstUnlock }, marks: present,
            onlyOpenScopes: true)
    }

    private func payloads(
        _ keys: OpenedKeys, _ period: UnlockPeriod
    ) throws(KeychainFailure) -> [KeyPayload] {
        [
            try KeyPayload(.afterFirstUnlock, of: keychainID, from: keys, period: period),
            try KeyPayload(.whileUnlocked, of: keychainID, from: keys, period: period),
        ]
    }

    /// Publishes payloads in place of everything that was published. A kill at any moment leaves
    /// the old keys or the new ones. A concurrent lock stays in force.
    private func publish(_ publication: Publication, _ now: BootTime) throws(KeychainFailure) {
        defer { forget() }
        let binding = try binding()
        let page = try LockPage.forSharing(in: places.folder)
        let marks = publication.marks
        let old = try places.files(of: binding, for: .changing)
        var keys: [NewKey] = []
        let file: OpenSharingFile
        do {
            for payload in publication.payloads {
                keys.append(try makeKey(payload, binding, marks, now))
            }
            file = try write(keys, binding)
        } catch {
            for key in keys { KernelKeyring.end(key.entry.serial, always: true) }
            throw error
        }
        var ended = end(old, binding, marks)
        if !publication.onlyOpenScopes { ended = [] }
        BootTime.wait(milliseconds: 1)
        sweep(but: keys.map(\.entry.serial))
        // Unreadable marks count as a lock.
        let marksNow = Self.marks(of: page)
        for scope in KeyScope.allCases where (try? marksNow.get())?[scope] != marks[scope] {
            ended.insert(scope)
        }
        for key in keys where ended.contains(key.scope) {
            try? file.empty([key.scope])
            KernelKeyring.end(key.entry.serial, always: true)
        }
        // An unlock that has opened nothing must not report success.
        guard try marksNow.get() != nil else {
            throw KeychainFailure(.inputOutput, during: .readPage)
        }
    }

    /// The marks of now. An error of a moment is no lock: the former keys are gone already, and a
    /// failed unlock would end keys that were open before it.
    private static func marks(of page: LockPage) -> Result<LockMarks?, KeychainFailure> {
        var result = Result { () throws(KeychainFailure) in try page.marks() }
        for _ in 0..<2 {
            guard case .failure = result else { return result }
            BootTime.wait(milliseconds: 1)
            result = Result { () throws(KeychainFailure) in try page.marks() }
        }
        return result
    }

    private func makeKey(
        _ payload: KeyPayload, _ binding: SharingBinding, _ marks: LockMarks, _ now: BootTime
    ) throws(KeychainFailure) -> NewKey {
        let scope = payload.scope
        let sharingKey = SharingKey.random()
        let sealed = payload.sealed(
            under: binding.payloadKey(sharingKey, scope, marks[scope]))
        let serial = try Self.untilThereIsRoom { () throws(KeychainFailure) in
            let name = scope.randomName(of: keychainID)
            let serial = try KernelKeyring.makeKey(named: name, payload: sealed.span)
            defer { KernelKeyring.dropFromThread(serial) }
            try KernelKeyring.share(serial)
            try KernelKeyring.setTimeout(payload.timeout(from: now), of: serial)
            try KernelKeyring.publish(serial)
            return serial
        }
        let id = binding.sharingID(sharingKey, scope, marks[scope])
        return NewKey(
            scope: scope, entry: SharingEntry(serial: serial, key: sharingKey, id: id))
    }

    /// Runs `body`, repeatedly for half a second if there is no room: the kernel frees room with a
    /// delay.
    private static func untilThereIsRoom<R>(
        _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        for _ in 0..<10 {
            do {
                return try body()
            } catch {
                guard error.code == .quotaExceeded else { throw error }
                usleep(50_000)
            }
        }
        return try body()
    }

    /// Writes the sharing file that names `keys`, in the first usable folder. This unlocks the
    /// keychain.
    private func write(
        _ keys: [NewKey], _ binding: SharingBinding
    ) throws(KeychainFailure) -> OpenSharingFile {
        let contents = SharingContents(
            Dictionary(keys.map { ($0.scope, $0.entry) }) { first, _ in first })
        let encoded = contents.encoded(for: binding)
        var failure = KeychainFailure(.cannotShare, during: .share, path: places.deviceFolder)
        for isInMemory in [true, false] {
            guard let place = try places.place(inMemory: isInMemory, making: true) else { continue }
            do {
                let file = try Self.write(encoded, in: place, keychainID)
                return OpenSharingFile(file, contents, isInMemory: place.isInMemory)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private static func write(
        _ bytes: borrowing SecretBytes, in place: SharingPlaces.Place, _ keychainID: KeychainID
    ) throws(KeychainFailure) -> OpenFile {
        do {
            return try writeFile(bytes, in: place, keychainID)
        } catch {
            throw KeychainFailure(cannotShare: error)
        }
    }

    private static func writeFile(
        _ bytes: borrowing SecretBytes, in place: SharingPlaces.Place, _ keychainID: KeychainID
    ) throws(SystemError) -> OpenFile {
        let name = SharingPlaces.fileName(of: keychainID)
        let temporary = PrivateDirectory.temporaryName(name)
        let file = try OpenFile.open(temporary, in: place.directory, for: .makingAnew)
        guard let file else {
            throw SystemError(.missing, during: "share opened keys", path: place.directory.path)
        }
        do {
            try bytes.withBytes { (bytes: Span<UInt8>) throws(SystemError) in
                try file.write(bytes)
            }
            if place.isInMemory { file.keepFromCleaners() }
            try place.directory.rename(temporary, to: name, replacing: true, syncing: false)
            return file
        } catch {
            try? file.writeZeros(byteCount: SharingContents.byteCount)
            try? place.directory.remove(temporary)
            throw error
        }
    }

    /// Ends the keys that earlier sharing files name.
    ///
    /// - Returns: The scopes that had no open key under `marks`.
    private func end(
        _ files: [OpenSharingFile], _ binding: SharingBinding, _ marks: LockMarks
    ) -> Set<KeyScope> {
        var notOpen = Set(KeyScope.allCases)
        for file in files {
            // Uses the open file, because its name already leads to the new one.
            try? file.empty(KeyScope.allCases)
            for scope in KeyScope.allCases {
                guard let entry = file.contents?[scope] else { continue }
                let wasGood = KernelKeyring.end(entry.serial, always: true)
                if wasGood, binding.sharingID(entry.key, scope, marks[scope]) == entry.id {
                    notOpen.remove(scope)
                }
            }
        }
        return notOpen
    }

    /// Ends published keys. No mark changes, so keys of a process's own stay valid.
    private func end(_ scopes: [KeyScope]) {
        forget()
        let files = (try? binding()).map { places.changeableFiles(of: $0) } ?? []
        for file in files { try? file.empty(scopes) }
        for serial in serials(of: scopes, in: files) { KernelKeyring.end(serial, always: true) }
        Self.awaitChecks()
    }

    /// The kernel's keys of `scopes`, as sharing files and their own names tell.
    private func serials(of scopes: [KeyScope], in files: [OpenSharingFile]) -> Set<KeySerial> {
        let named = named().filter { key in scopes.contains { $0.isNamed(by: key.name) } }
        let entries = files.flatMap { file in scopes.compactMap { file.contents?[$0]?.serial } }
        return Set(entries + named.map(\.key))
    }

    /// Ends keys that are not of the epoch `mark`, and those that no sharing file names: a program
    /// was killed before it could put other keys in their place.
    func end(unlessOf mark: EpochMark, _ now: () -> BootTime) {
        let outdated = KeyScope.allCases.filter { scope in
            guard let found = try? lookUp(scope, of: mark, now), case .absent(let why) = found
            else { return false }
            return why == .otherEpoch
        }
        if !outdated.isEmpty { end(outdated) }
        guard let files = try? places.files(of: binding(), for: .reading) else { return }
        sweep(but: files.flatMap(\.serials))
    }

    /// Removes keys and files that killed programs left or other programs planted.
    private func sweep(but serials: [KeySerial]) {
        for key in named() where !serials.contains(key.key) {
            KernelKeyring.end(key.key, always: true)
        }
        places.removeLeftovers(of: keychainID)
    }

    /// The kernel's keys with names of this keychain.
    func named() -> [(key: KeySerial, name: String)] { Self.named(keychainID).keys }

    /// Longer than every name that this library makes.
    private static let nameLimit = 128

    private static func named(_ keychainID: KeychainID?) -> KernelKeyring.Named {
        let prefix = KeyScope.namePrefix(of: keychainID)
        var found = KernelKeyring.keys(namedWithin: nameLimit)
        found.keys.removeAll { !$0.name.hasPrefix(prefix) }
        return found
    }

    /// Extends the period after a use. It cannot undo a lock, which changes the mark that the
    /// payload is bound to.
    func renew(_ now: () -> BootTime) throws(KeychainFailure) {
        guard case .found(let found) = try lookUp(.whileUnlocked, of: nil, now) else {
            return use.follow(nil)
        }
        let (moment, period) = (now(), found.payload.period)
        guard !period.hasEnded(at: moment) else { return use.follow(nil) }
        guard let due = period.renewalMoment, due <= moment else {
            // Another process has already renewed the period.
            return noteRenewal(found)
        }
        let payload = found.payload.lasting(period.renewed(at: moment))
        guard try reseal(payload, found.key, moment) else { return use.follow(nil) }
        noteRenewal(Found(key: found.key, payload: payload))
    }

    /// Seals `payload` anew in the same key of the kernel.
    ///
    /// - Returns: Whether the key exists and the sharing file names it.
    private func reseal(
        _ payload: KeyPayload, _ serial: KeySerial, _ now: BootTime
    ) throws(KeychainFailure) -> Bool {
        let binding = try binding()
        guard let marks = try page.marks(at: .now) else { return false }
        let entries = try places.files(of: binding, for: .reading)
            .compactMap { $0.contents?[payload.scope] }
        guard let entry = entries.first(where: { $0.serial == serial }),
            binding.sharingID(entry.key, payload.scope, marks[payload.scope]) == entry.id
        else { return false }
        let key = binding.payloadKey(entry.key, payload.scope, marks[payload.scope])
        do {
            try KernelKeyring.update(serial, payload: payload.sealed(under: key).span)
            try KernelKeyring.setTimeout(payload.timeout(from: now), of: serial)
            return true
        } catch {
            guard error.code.meansGone || error.code == .kernelRefuses else { throw error }
            return false
        }
    }
}

/// Locking, which does not wait for the writers' lock: docs/FORMAT.md §10.6.
extension SharedKeys {
    /// Removes keys from every process: those of the scope `whileUnlocked`, or with `all` those of
    /// both scopes.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput` if the marks could not be changed. Shared
    ///   keys are gone nevertheless.
    func lock(all: Bool) throws(KeychainFailure) {
        forget()
        let scopes = all ? KeyScope.allCases : [.whileUnlocked]
        let files = (try? binding()).map { places.changeableFiles(of: $0) } ?? []
        let serials = serials(of: scopes, in: files)
        let change = Self.changeMarks(in: places.folder, all: all)
        for file in files { try? file.empty(scopes) }
        for serial in serials { KernelKeyring.end(serial, always: change.failure != nil) }
        for file in files where !file.isInMemory { try? file.sync() }
        Self.awaitChecks(isNew: change.isNew)
        if let failure = change.failure {
            throw KeychainFailure(cannotTellOthers: failure)
        }
    }

    /// Locks the keychain in `folder`, whose id is not known. Its keys open nothing any more, but
    /// stay in the kernel until the next unlock or lock.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput` if the marks could not be changed.
    static func lockFolder(_ folder: String, all: Bool) throws(KeychainFailure) {
        let change = changeMarks(in: folder, all: all)
        awaitChecks(isNew: change.isNew)
        if let failure = change.failure { throw KeychainFailure(cannotTellOthers: failure) }
    }

    /// Changes the marks of the folder, which is the lock itself.
    ///
    /// - Returns: Why it failed, if it did, and whether the page is new.
    private static func changeMarks(
        in folder: String, all: Bool
    ) -> (failure: SystemError?, isNew: Bool) {
        do {
            if let known = try LockPage.changeable(in: folder, making: false) {
                let isNew = isWithoutPage(known)
                try known.change(all: all, isNew: isNew)
                return (nil, isNew)
            }
            try LockPage.changeable(in: folder, making: true)?.change(all: all, isNew: true)
            return (nil, true)
        } catch {
            // Without a folder, no keys are bound to its marks.
            return (error.code == .missing ? nil : error, false)
        }
    }

    /// False also if the file cannot be read: it may have a page.
    private static func isWithoutPage(_ file: LockPage) -> Bool {
        do {
            return try file.marks() == nil
        } catch {
            return false
        }
    }

    /// Waits until no thread or process relies on an earlier check: a millisecond, or for a new
    /// page the interval at which processes look up its name again.
    static func awaitChecks(isNew: Bool = false) {
        BootTime.wait(milliseconds: isNew ? PageWatch.lookInterval : 1)
    }

    /// Removes the keys of every keychain from every process, and changes the marks in the folder
    /// of `places`: for a keychain whose id cannot be read.
    ///
    /// - Throws: As ``lock(all:)``.
    static func lockEveryKeychain(
        all: Bool, _ places: SharingPlaces
    ) throws(KeychainFailure) {
        let scopes = all ? KeyScope.allCases : [.whileUnlocked]
        let found = named(nil)
        let named = found.keys.filter { key in scopes.contains { $0.isNamed(by: key.name) } }
        let change = changeMarks(in: places.folder, all: all)
        // The marks of other keychains are unchanged, so their keys must be ended.
        for key in Set(places.emptyEveryFile(scopes) + named.map(\.key)) {
            KernelKeyring.end(key, always: true)
        }
        awaitChecks(isNew: change.isNew)
        if let failure = change.failure {
            throw KeychainFailure(cannotTellOthers: failure)
        }
        if let failure = found.failure { throw failure }
    }

    /// Descriptions of changes that others made to this keychain's keys in the kernel.
    func findings(_ now: () -> BootTime) -> [String] {
        var findings: [String] = []
        for scope in [KeyScope.whileUnlocked, .afterFirstUnlock] {
            guard let lookUp = try? lookUp(scope, of: nil, now),
                case .absent(.invalid(let error)) = lookUp
            else { continue }
            findings.append("the keychain's opened keys in the kernel are not trusted: \(error)")
        }
        // Without all files it is unknown which keys are in use.
        guard let files = try? places.files(of: try binding(), for: .reading) else {
            return findings
        }
        let known = files.flatMap(\.serials)
        let others = named().filter { !known.contains($0.key) }
        if !others.isEmpty {
            let serials = others.map { String($0.key.rawValue) }.joined(separator: ", ")
            findings.append(
                "unused keys in the kernel have this keychain's name: "
                    + "serial numbers \(serials)")
        }
        if let error = KernelKeyring.userKeyringError(), error.code != .keyNotFound {
            findings.append(
                "the user's keyring cannot be used, so keys are in the persistent one: \(error)")
        }
        return findings
    }

    /// Whether the kernel or a sharing file has keys of this keychain, valid or not.
    func hasKeys() throws(KeychainFailure) -> Bool {
        if !named().isEmpty { return true }
        let files = try places.files(of: try binding(), for: .reading)
        return files.contains { file in KeyScope.allCases.contains { file.contents?[$0] != nil } }
    }
}

extension KeyPayload {
    /// The kernel's own timeout, in seconds: a second safeguard, never earlier than the deadline.
    /// The kernel counts whole seconds of a clock that can be set.
    fileprivate func timeout(from now: BootTime) -> UInt32 {
        guard let deadline = period.deadline else { return 0 }
        let left = deadline > now ? deadline.milliseconds - now.milliseconds : 0
        return UInt32(clamping: left / 1000 + 2)
    }
}
