// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

/// Unlocking, and other keys in the place of those that are open: docs/FORMAT.md §10.6.
///
/// The caller holds the lock of writers. A lock, which takes no lock, may come at any time.
extension SharedLockState {
    /// What is published, and whether only as far as it replaces keys that are open.
    struct Publication {
        let payloads: [KeyPayload]
        /// True for new keys of an epoch, which unlock nothing.
        let onlyOpenScopes: Bool
    }

    /// A key of the kernel that nobody finds yet.
    private struct NewKey {
        let scope: KeyScope
        let entry: SharingEntry
    }

    /// Puts payloads in the place of all that are published.
    ///
    /// A kill at any moment leaves what was there before, or what is new.
    ///
    /// - Returns: The scopes that are open now: not those that a lock has taken away meanwhile.
    /// - Throws: ``LockStateError/Code/quotaExceeded`` if there is no room, for half a second,
    ///   since the kernel gives room back with a delay; `refused`; `cannotShare`. What was
    ///   published before stays then. `other`, with nothing published, for an unlock after which
    ///   the page of locks cannot be read.
    func publish(
        _ publication: Publication, now: BootTime
    ) throws(LockStateError) -> Set<KeyScope> {
        defer { forget() }
        let binding = try binding()
        let page = try writablePage()
        guard let marks = try page.marks() else {
            throw LockStateError(.cannotShare, during: .share)
        }
        let old = try places.files(of: binding, for: .changing)
        var keys: [NewKey] = []
        let file: OpenSharingFile
        do throws(LockStateError) {
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
        // A lock that came concurrently holds. What cannot be told counts as one.
        let marksNow = Result { () throws(LockStateError) in try page.marks() }
        for scope in KeyScope.allCases where (try? marksNow.get())?[scope] != marks[scope] {
            ended.insert(scope)
        }
        for key in keys where ended.contains(key.scope) {
            try? file.empty([key.scope])
            KernelKeyring.end(key.entry.serial, always: true)
        }
        // An unlock that has unlocked nothing must not answer as if it had.
        if !publication.onlyOpenScopes, try marksNow.get() == nil {
            throw LockStateError(.other, during: .readPage)
        }
        return Set(keys.map(\.scope)).subtracting(ended)
    }

    /// Ends what is published, and changes no mark: for a process that goes on with keys of its
    /// own.
    func endAll() {
        forget()
        guard let binding = try? binding() else { return }
        for file in places.changeableFiles(of: binding) {
            try? file.empty(KeyScope.allCases)
            for scope in KeyScope.allCases {
                guard let entry = file.contents?[scope] else { continue }
                KernelKeyring.end(entry.serial, always: true)
            }
        }
        Self.awaitChecks()
    }

    /// The page, made if there is none.
    func writablePage() throws(LockStateError) -> LockPage {
        do throws(SystemError) {
            guard let page = try page.changeable(making: true) else {
                throw SystemError(.missing, during: "share opened keys", path: page.folder)
            }
            if (try? page.marks()) == nil { _ = try page.make() }
            return page
        } catch {
            throw LockStateError(error, .cannotShare, during: .share)
        }
    }

    private func makeKey(
        _ payload: KeyPayload, _ binding: SharingBinding, _ marks: LockMarks, _ now: BootTime
    ) throws(LockStateError) -> NewKey {
        let scope = payload.scope
        let sharingKey = SharingKey.random()
        let sealed = payload.sealed(
            under: binding.payloadKey(sharingKey, scope, marks[scope]))
        let serial = try Self.untilThereIsRoom { () throws(LockStateError) in
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

    /// Runs `body`, and again for half a second if there was no room: the kernel gives room back
    /// with a delay.
    private static func untilThereIsRoom<R>(
        _ body: () throws(LockStateError) -> R
    ) throws(LockStateError) -> R {
        for _ in 0..<10 {
            do throws(LockStateError) {
                return try body()
            } catch {
                guard error.code == .quotaExceeded else { throw error }
                usleep(50_000)
            }
        }
        return try body()
    }

    /// Writes the sharing file that names `keys`, in the first place that can be used: from here on
    /// the keychain is unlocked.
    private func write(
        _ keys: [NewKey], _ binding: SharingBinding
    ) throws(LockStateError) -> OpenSharingFile {
        let contents = SharingContents(
            Dictionary(keys.map { ($0.scope, $0.entry) }) { first, _ in first })
        let encoded = contents.encoded(for: binding)
        var failure = LockStateError(.cannotShare, during: .share, path: places.deviceFolder)
        for isInMemory in [true, false] {
            guard let place = try places.place(inMemory: isInMemory, making: true) else { continue }
            do throws(LockStateError) {
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
    ) throws(LockStateError) -> HeldFile {
        do throws(SystemError) {
            return try writeFile(bytes, in: place, keychainID)
        } catch {
            throw LockStateError(error, .cannotShare, during: .share)
        }
    }

    private static func writeFile(
        _ bytes: borrowing SecretBytes, in place: SharingPlaces.Place, _ keychainID: KeychainID
    ) throws(SystemError) -> HeldFile {
        let name = SharingPlaces.fileName(of: keychainID)
        let temporary = PrivateDirectory.temporaryName(name)
        let file = try HeldFile.open(temporary, in: place.directory, for: .makingAnew)
        guard let file else {
            throw SystemError(.missing, during: "share opened keys", path: place.directory.path)
        }
        do throws(SystemError) {
            try bytes.withBytes { (bytes: Span<UInt8>) throws(SystemError) in
                try file.write(bytes)
            }
            if place.isInMemory { file.keepFromCleaners() }
            try place.directory.replaceUnsynced(name, by: temporary)
            return file
        } catch {
            try? file.writeZeros(byteCount: SharingContents.byteCount)
            try? place.directory.remove(temporary)
            throw error
        }
    }

    /// Makes what was published before useless.
    ///
    /// - Returns: The scopes of which nothing was open under `marks`.
    private func end(
        _ files: [OpenSharingFile], _ binding: SharingBinding, _ marks: LockMarks
    ) -> Set<KeyScope> {
        var notOpen = Set(KeyScope.allCases)
        for file in files {
            // In the open file: its name leads to the new one by now.
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

    /// Removes what killed programs left, and what others have planted.
    private func sweep(but serials: [KeySerial]) {
        for key in named() where !serials.contains(key.key) {
            KernelKeyring.end(key.key, always: true)
        }
        places.removeLeftovers(of: keychainID)
    }

    /// The keys of the kernel that have names of this keychain's.
    func named() -> [(key: KeySerial, name: String)] { Self.named(keychainID) }

    /// Names of ours are shorter.
    private static let nameLimit = 128

    private static func named(_ keychainID: KeychainID?) -> [(key: KeySerial, name: String)] {
        let prefixes = KeyScope.namePrefixes(of: keychainID)
        return KernelKeyring.keys(namedWithin: nameLimit).filter { key in
            prefixes.contains { key.name.hasPrefix($0) }
        }
    }

    /// Makes the time longer that is left, after a use; never undoes a lock, which changes the mark
    /// that the payload is bound to.
    func renew(_ now: () -> BootTime) throws(LockStateError) {
        guard case .found(let found) = try lookUp(.whileUnlocked, [], now) else {
            return use.follow(nil)
        }
        let (moment, period) = (now(), found.payload.period)
        guard !period.hasEnded(at: moment) else { return use.follow(nil) }
        guard let due = period.renewalMoment, due <= moment else {
            // Somebody else was here before.
            return noteRenewal(found)
        }
        let payload = found.payload.lasting(period.renewed(at: moment))
        guard try reseal(payload, found.key, moment) else { return use.follow(nil) }
        noteRenewal(Found(key: found.key, payload: payload))
    }

    /// Seals `payload` anew in the same key of the kernel.
    ///
    /// - Returns: Whether the key was there, and is the one that the sharing file names.
    private func reseal(
        _ payload: KeyPayload, _ serial: KeySerial, _ now: BootTime
    ) throws(LockStateError) -> Bool {
        let binding = try binding()
        guard let marks = try page.marks(at: .now) else { return false }
        let entries = try places.files(of: binding, for: .reading)
            .compactMap { $0.contents?[payload.scope] }
        guard let entry = entries.first(where: { $0.serial == serial }),
            binding.sharingID(entry.key, payload.scope, marks[payload.scope]) == entry.id
        else { return false }
        let key = binding.payloadKey(entry.key, payload.scope, marks[payload.scope])
        do throws(LockStateError) {
            try KernelKeyring.update(serial, payload: payload.sealed(under: key).span)
            try KernelKeyring.setTimeout(payload.timeout(from: now), of: serial)
            return true
        } catch {
            guard error.meansGone || error.code == .refused else { throw error }
            return false
        }
    }
}

/// Locking: docs/FORMAT.md §10.6. It waits for no lock.
extension SharedLockState {
    /// Takes keys away from everybody: of one scope, or with `all` of both.
    ///
    /// - Throws: ``LockStateError/Code/cannotTellOthers`` if the marks could not be changed. Shared
    ///   keys are gone all the same.
    func lock(all: Bool) throws(LockStateError) {
        forget()
        let scopes = all ? KeyScope.allCases : [.whileUnlocked]
        let files = (try? binding()).map { places.changeableFiles(of: $0) } ?? []
        let named = named().filter { key in scopes.contains { $0.isNamed(by: key.name) } }
        let change = Self.change(page, all: all)
        for file in files { try? file.empty(scopes) }
        let serials = files.flatMap { file in scopes.compactMap { file.contents?[$0]?.serial } }
        for key in Set(serials + named.map(\.key)) {
            KernelKeyring.end(key, always: change.failure != nil)
        }
        for file in files where !file.isInMemory { try? file.sync() }
        Self.awaitChecks(isNew: change.isNew)
        if let failure = change.failure {
            throw LockStateError(failure, .cannotTellOthers, during: .lock)
        }
    }

    /// Changes the marks of the folder: this is the lock.
    ///
    /// - Returns: Why that could not be done, and whether there was no page before.
    private static func change(
        _ page: PageWatch, all: Bool
    ) -> (failure: SystemError?, isNew: Bool) {
        do throws(SystemError) {
            if let known = try page.changeable(making: false) {
                let isNew = (try? known.marks()) == nil
                try known.change(all: all)
                return (nil, isNew)
            }
            try page.changeable(making: true)?.change(all: all)
            return (nil, true)
        } catch {
            // Without a folder nobody has keys that are bound to it.
            return (error.code == .missing ? nil : error, false)
        }
    }

    /// Waits until nobody believes a check that was made before: a millisecond, or where there was
    /// no page the time after which its name is looked up again.
    static func awaitChecks(isNew: Bool = false) {
        BootTime.wait(milliseconds: isNew ? PageWatch.lookInterval : 1)
    }

    /// Takes keys of every keychain away from everybody, and changes the marks in the folder of
    /// `page`: for where the files do not say which keychain it is.
    ///
    /// - Throws: As ``lock(all:)``.
    static func lockEveryKeychain(
        all: Bool, _ places: SharingPlaces, _ page: PageWatch
    ) throws(LockStateError) {
        let scopes = all ? KeyScope.allCases : [.whileUnlocked]
        let named = named(nil).filter { key in scopes.contains { $0.isNamed(by: key.name) } }
        let change = change(page, all: all)
        // Of other keychains no mark was changed.
        for key in Set(places.emptyEveryFile(scopes) + named.map(\.key)) {
            KernelKeyring.end(key, always: true)
        }
        awaitChecks(isNew: change.isNew)
        if let failure = change.failure {
            throw LockStateError(failure, .cannotTellOthers, during: .lock)
        }
    }

    /// What somebody has done to keys of this keychain in the kernel, in words.
    func findings(_ now: () -> BootTime) -> [String] {
        var findings: [String] = []
        for scope in [KeyScope.whileUnlocked, .afterFirstUnlock] {
            guard let lookUp = try? lookUp(scope, [], now),
                case .absent(.invalid(let error)) = lookUp
            else { continue }
            findings.append("the keychain's opened keys in the kernel are not believed: \(error)")
        }
        let files = (try? places.files(of: try binding(), for: .reading)) ?? []
        let known = files.flatMap { file in
            KeyScope.allCases.compactMap { file.contents?[$0]?.serial }
        }
        let others = named().filter { !known.contains($0.key) }
        if !others.isEmpty {
            let serials = others.map { String($0.key.rawValue) }.joined(separator: ", ")
            findings.append(
                "keys in the kernel have the name of this keychain's, and nobody uses them: "
                    + "serial numbers \(serials)")
        }
        if let error = KernelKeyring.userKeyringError(), error.code != .keyNotFound {
            findings.append(
                "the user's keyring cannot be used, and keys are in the persistent one: \(error)")
        }
        return findings
    }

    /// Whether there are keys of this keychain, whatever they are.
    func hasKeys() throws(LockStateError) -> Bool {
        if !named().isEmpty { return true }
        let files = try places.files(of: try binding(), for: .reading)
        return files.contains { file in KeyScope.allCases.contains { file.contents?[$0] != nil } }
    }
}

extension KeyPayload {
    /// The kernel's own timeout, in seconds: a second line behind the deadline, and so never
    /// earlier. The kernel counts whole seconds of a clock that can be set.
    fileprivate func timeout(from now: BootTime) -> UInt32 {
        guard let deadline else { return 0 }
        let left = deadline > now ? deadline.milliseconds - now.milliseconds : 0
        return UInt32(clamping: left / 1000 + 2)
    }
}
