// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetSealing
internal import ValetSync
internal import ValetSyncAgent
internal import ValetSyncStores
internal import ValetSystem

/// Finds the store that a command line names, and opens the store at an address. The password of an
/// etcd user is an item of the keychain, for this device only.
extension SyncCall {
    /// The store that the options choose.
    ///
    /// - Throws: ``ExitCode/usage`` for none or two stores, or for options of the other kind of
    ///   store.
    func chosenAddress() throws(CLIError) -> StoreAddress {
        let etcdOptions = [
            SyncOptions.authority, SyncOptions.certificate, SyncOptions.key, SyncOptions.user,
            SyncOptions.passwordDescriptor,
        ]
        switch (values[SyncOptions.folder], values[SyncOptions.etcd]) {
        case (let path?, nil):
            if let surplus = etcdOptions.first(where: values.isGiven) {
                throw .usage("'\(surplus.spelling)' needs '--etcd'")
            }
            return .folder(try absolute(path))
        case (nil, let list?):
            var address = EtcdPlace(list: list)
            address.allowsPlainText = values.has(SyncOptions.plainText)
            address.authority = try file(SyncOptions.authority)
            address.certificate = try file(SyncOptions.certificate)
            address.key = try file(SyncOptions.key)
            address.user = values[SyncOptions.user]
            return .etcd(address)
        case (nil, nil):
            throw .usage(
                "expected '--folder' or '--etcd'",
                hint: "'--folder=PATH' names a folder that all your devices reach")
        case (.some, .some): throw .usage("'--folder' and '--etcd' exclude each other")
        }
    }

    private func file(_ option: OptionDeclaration) throws(CLIError) -> String? {
        guard let path = values[option] else { return nil }
        return try absolute(path)
    }

    /// The absolute path: the agent runs in another folder than this command.
    private func absolute(_ path: String) throws(CLIError) -> String {
        guard let full = FilePath.resolved(path) else {
            let code = errno
            guard code == ENOENT || code == ENOTDIR else {
                throw CLIError(SystemError(errno: code, during: "find the folder", path: path))
            }
            throw .usage("there is no \(quoted(path))", hint: "make it, or mount it, first")
        }
        return full
    }

    // MARK: Opening

    func open(_ address: StoreAddress) throws(KeychainFailure) -> any SyncStore {
        var password: SecretValue?
        if let user = address.user {
            password = try credentials().value(of: Self.password(of: user))
        }
        return try remoteStore(at: address, password)
    }

    /// A store that the options choose.
    struct ChosenStore {
        let remote: any SyncStore
        fileprivate let user: String?
        fileprivate let password: SecretValue?
    }

    /// Opens a store that the options choose. Asks for the password of its user.
    func openChosen(_ address: StoreAddress) throws(CLIError) -> ChosenStore {
        guard let user = address.user else {
            return ChosenStore(remote: try syncing(open(address)), user: nil, password: nil)
        }
        // An address that must not get a password is refused before the password is asked for.
        _ = try syncing(remoteStore(at: address, SecretValue(copying: Span())))
        let password: SecretValue = try context.answer(
            naming: "password", "The password of \(user) at the etcd servers.",
            SyncOptions.passwordDescriptor, in: values
        ) { .accepted($0.withBytes { SecretValue(copying: $0) }) }
        return ChosenStore(
            remote: try syncing(remoteStore(at: address, password)), user: user, password: password)
    }

    /// Stores the password of a chosen store's user, and begins the circle by `body`. If that
    /// fails, removes the password from the keychain.
    func keepingPassword<R>(
        of chosen: ChosenStore, _ body: @autoclosure () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        guard let user = chosen.user, let password = chosen.password else { return try body() }
        try credentials().set(Self.service.item(user), value: password)
        do {
            return try body()
        } catch {
            forgetPassword(of: user)
            throw error
        }
    }

    func forgetPassword(of address: StoreAddress) {
        if let user = address.user { forgetPassword(of: user) }
    }

    private func forgetPassword(of user: String) {
        forget(Self.password(of: user), "the password of \(quoted(user)) stays in the keychain")
    }

    /// Deletes an item of this program. A failure ends no command: warns of its consequence.
    ///
    /// - Returns: Whether it is gone.
    @discardableResult
    private func forget(_ name: PasswordName, _ consequence: String) -> Bool {
        do throws(KeychainFailure) {
            try credentials().delete(name.query)
        } catch {
            guard error.code != .itemNotFound else { return true }
            warn(of: error, consequence)
            return false
        }
        return true
    }

    private static let service = PasswordService(
        service: "valet-sync", accessGroup: nil, isSynchronizable: false,
        protectionClass: .afterFirstUnlockThisDeviceOnly)

    private static func password(of user: String) -> PasswordName {
        PasswordName(user, in: service)
    }

    // MARK: Notice of a move

    /// An item that all devices of a circle read. The device that moves to a new circle notifies
    /// the others with it, because nothing else reaches them.
    private static let moves = PasswordService(
        service: "valet-sync-moved", accessGroup: nil, isSynchronizable: true,
        protectionClass: .afterFirstUnlock)

    /// Notifies the devices of a circle that `device` goes on in a new one.
    func announceMove(of circle: CircleID, by device: String) throws(KeychainFailure) {
        let name = SecretValue(copying: Array(device.utf8).span)
        try credentials().set(Self.moves.item(circle.text), value: name)
    }

    /// - Returns: Whether the notice is gone.
    @discardableResult
    func forgetMove(of circle: CircleID) -> Bool {
        forget(
            PasswordName(circle.text, in: Self.moves),
            "the notice that a device goes on in a new circle stays in the keychain")
    }

    /// The name of the device that goes on in a new circle; nil without such a notice.
    func moverName(of circle: CircleID) throws(KeychainFailure) -> String? {
        let value: SecretValue?
        do {
            value = try credentials().value(of: PasswordName(circle.text, in: Self.moves))
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return nil
        }
        return value?.withBytes { bytes in
            String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
        }
    }

    private func credentials() throws(KeychainFailure) -> KeychainSession {
        try KeychainSession.current(onBehalfOf: "valet-sync")
    }
}

/// The store at an address. Nothing is read or written yet.
private func remoteStore(
    at address: StoreAddress, _ password: SecretValue?
) throws(KeychainFailure) -> any SyncStore {
    switch address {
    case .folder(let path): FolderStore(at: path)
    case .etcd(let place): try EtcdStore(at: EtcdAddress(place, password: password))
    }
}
