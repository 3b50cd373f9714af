// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetDatabase
import ValetKeyTestSupport
import ValetKeychainModel
import ValetKeys
import ValetSystem
import ValetTPM
import ValetTestSupport
import ValetTestValues

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// A keychain with a TPM of its own, and something in between that counts what the TPM is asked.
final class BoundKeychain {
    /// What becomes of the commands, by their numbers.
    final class Way: Sendable {
        private let rule = Mutex<@Sendable (Int) -> TPMProxy.Action>({ _ in .pass })
        private let first = Mutex(0)

        func answer(_ number: Int) -> TPMProxy.Action {
            let first = first.withLock { $0 }
            return rule.withLock { $0 }(number - first)
        }

        /// From the command after the `count`th on, `rule` is asked, with numbers from 1.
        func change(after count: Int, _ rule: @escaping @Sendable (Int) -> TPMProxy.Action) {
            self.rule.withLock { $0 = rule }
            first.withLock { $0 = count }
        }
    }

    private let folder: TestFolder
    /// Where the TPM keeps what it has.
    private let state: TestFolder
    let swtpm: Swtpm
    let proxy: TPMProxy
    private let way = Way()
    let keychain: TestKeychain

    init(timeLimit: Duration = .seconds(20)) throws {
        folder = try TestFolder()
        state = try TestFolder()
        swtpm = try Swtpm(state)
        let way = way
        proxy = try TPMProxy(in: folder, before: swtpm.socket) { _, number in way.answer(number) }
        keychain = TestKeychain(tpm: TPMDevice(.socket(path: proxy.socket)), timeLimit: timeLimit)
    }

    deinit { try? forget() }

    var store: ItemStore { keychain.store }

    /// How many commands the TPM was given.
    var count: Int { proxy.seen.count }

    /// What becomes of commands from now on, by their numbers from 1.
    func answer(_ rule: @escaping @Sendable (Int) -> TPMProxy.Action) {
        way.change(after: count, rule)
    }

    func bind(_ passcode: Passcode? = nil, pcrs: [Int]? = nil) throws {
        try store.keychain.rotateKeys(passcode, movingDeviceKeyTo: .tpm, boundTo: pcrs)
    }

    /// Binds with all the time that it takes.
    func bindPatiently() throws {
        store.close()
        let other = ItemStore(
            KeychainLocation(folder: store.location.folder, tpm: store.location.tpm),
            timeLimit: .seconds(20), stretching: .lowest)
        try other.keychain.rotateKeys(nil, movingDeviceKeyTo: .tpm)
        other.close()
    }

    /// Puts a new TPM in the place of the one that there is, which was ended.
    func replaceTPM() throws {
        for name in try state.names() {
            try FileManager.default.removeItem(atPath: state.path(name))
        }
        try swtpm.start()
    }

    /// Forgets everything, as the end of all programs and of the machine's run does.
    func forget() throws {
        let id = try store.tryOnKeys("test") { keys in
            try keys.header().settings.keychainID
        }
        store.close()
        try LockStates.store(of: id, at: store.location).lock(all: true)
    }

    /// The files of the device folder, without the sharing file of an unlocked keychain.
    var deviceKeys: [String] {
        let path = keychain.folder + "/device"
        return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
            .filter { !$0.hasPrefix("sharing.") }.sorted()
    }

    /// The failure that `body` ends with.
    func failure(_ body: () throws -> Void) -> KeychainFailure? {
        do {
            try body()
            return nil
        } catch {
            return error as? KeychainFailure
        }
    }
}

extension Swtpm {
    /// What a test that cannot run says.
    static var isMissing: Comment { Comment(rawValue: missing) }
}
