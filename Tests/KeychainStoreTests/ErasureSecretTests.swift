// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSecretMemory
import ValetTPM
import ValetTPMSupport
import ValetTestValues

@testable import ValetKeychainStore

/// spec/keys-and-states.md §4; docs/FORMAT.md §4.9.
@Suite(.enabled(if: Swtpm.isThere, Swtpm.isMissing)) struct `A keychain with an erasure secret` {
    private let bound: BoundStore
    private let passcode: KeychainPasscode
    private static let classes = EpochStore.classes.filter {
        $0 != .whenPasscodeSetThisDeviceOnly
    }
    private static let names = Set(classes.map { "\($0)" })
    private static let migratable = Set(classes.filter { !$0.isThisDeviceOnly }.map { "\($0)" })

    init() throws {
        bound = try BoundStore()
        passcode = try EpochStore.passcode("the passcode")
        try bound.epochs.addItems(Self.classes)
    }

    private var store: ItemStore { bound.store }

    private func readable() -> Set<String> { bound.epochs.readable(of: Array(Self.names)) }

    private static func owner(_ bytes: UInt8...) throws -> OwnerAuthorization {
        try OwnerAuthorization(SecretBytes(copying: bytes.span))
    }

    /// Gives the TPM's owner a value.
    private func setOwner(_ bytes: UInt8...) throws {
        try RawTPM(bound.swtpm.socket).setOwnerAuthorization(bytes)
    }

    private func warnings() -> [String] {
        store.diagnose().filter { $0.severity == .warning }.map(\.message)
    }

    @Test func `has its items, and says that the TPM keeps it`() throws {
        try bound.bindErasably()
        #expect(try bound.hasOneErasureSecret())
        try bound.forget()
        try bound.swtpm.restart()
        #expect(readable() == Self.names)
        let status = try store.status()
        #expect(status.level == .tpm && status.erasureSecret?.isThere == true)
        #expect(status.erasureSecret?.epoch == 2)
        let findings = store.diagnose()
        #expect(findings.allSatisfy { $0.severity == .fine })
        #expect(findings.contains { $0.message.hasPrefix("the TPM keeps the erasure secret at") })
        #expect(store.strayDeviceKeys().isEmpty)
    }

    @Test func `is what doctor says of none`() throws {
        try bound.bind()
        #expect(try bound.indices().isEmpty && bound.notes.isEmpty)
        #expect(try store.status().erasureSecret == nil)
        #expect(store.diagnose().contains { $0.message == "the TPM keeps no erasure secret" })
    }

    @Test func `gets a new one with each change of keys, and the last is destroyed`() throws {
        try bound.bindErasably()
        var last = try bound.indices()
        let changes: [() throws -> Void] = [
            { try store.rotateKeys(nil) }, { try store.setPasscode(passcode) },
            { try store.changePasscode(passcode, to: passcode) },
            { try store.rotateKeys(passcode, revokingRecoveryKey: true) },
            { try bound.bindErasably(passcode) }, { try store.removePasscode(passcode) },
        ]
        for change in changes {
            try change()
            #expect(try bound.hasOneErasureSecret())
            let status = try store.status()
            #expect(status.erasureSecret?.epoch == status.epoch)
            #expect(try bound.indices() != last)
            last = try bound.indices()
            try bound.forget()
            if status.lockStateProvider != nil { try store.unlock(passcode) }
            #expect(readable() == Self.names)
        }
    }

    /// A copy stands for what is left on a disk: it opens where nothing is destroyed.
    @Test(arguments: [false, true])
    func `leaves nothing that older keys open`(_ isErasable: Bool) throws {
        if isErasable { try bound.bindErasably() } else { try bound.bind() }
        try bound.forget()
        let folder = try TestFolder()
        try FileManager.default.copyItem(
            atPath: bound.epochs.keychain.folder, toPath: folder.path("copy"))
        let copy = ItemStore(
            KeychainLocation(folder: folder.path("copy"), tpm: store.location.tpm),
            stretching: .lowest)
        try store.rotateKeys(nil)
        try bound.forget()
        let failure = bound.failure { try copy.checkDeviceKey() }
        #expect(failure?.code == (isErasable ? .keyUnavailable : nil))
        #expect(failure?.hint == (isErasable ? "run `valet recovery use`" : nil))
        copy.close()
        #expect(readable() == Self.names)
    }

    @Test func `is lost with it, until the recovery key is used`() throws {
        let key = try store.createRecoveryKey(nil)
        try bound.bindErasably()
        try bound.forget()
        let index = try bound.indices()[0]
        try RawTPM(bound.swtpm.socket).undefine(index)
        let failure = bound.failure { _ = try bound.epochs.value("whenUnlocked") }
        #expect(failure?.code == .keyUnavailable)
        #expect(failure?.hint == "run `valet recovery use`")
        let status = try store.status()
        #expect(status.state == .keyUnavailable && status.needsRecovery)
        #expect(status.erasureSecret?.isThere == false)
        #expect(store.diagnose().contains { $0.message.hasSuffix("is gone from the TPM") })
        try store.recover(with: key, settingPasscode: nil)
        #expect(readable() == Self.migratable)
        #expect(bound.notes.isEmpty)
        #expect(try store.status().level == .file)
    }

    @Test func `is lost when another's is in its place, and no passcode is wrong then`() throws {
        try store.setPasscode(passcode)
        try bound.bindErasably(passcode)
        try bound.forget()
        let index = try bound.indices()[0]
        try RawTPM(bound.swtpm.socket).undefine(index)
        try RawTPM(bound.swtpm.socket).define(index)
        #expect(bound.epochs.code { try store.unlock(passcode) } == .keyUnavailable)
        #expect(try store.status().state == .keyUnavailable)
    }

    @Test func `is destroyed by a recovery, too`() throws {
        let key = try store.createRecoveryKey(nil)
        try bound.bindErasably()
        try bound.forget()
        try store.recover(with: key, settingPasscode: passcode, deviceKeyFrom: .tpm)
        #expect(try bound.indices().isEmpty && bound.notes.isEmpty)
        #expect(readable() == Self.names)
    }

    @Test func `is not made without the owner's authorization`() throws {
        try RawTPM(bound.swtpm.socket).persistStorageKey()
        try setOwner(1, 2, 3)
        let missing = bound.failure { try bound.bindErasably() }
        #expect(missing?.code == .authenticationFailed)
        #expect(missing?.hint == "give it with --owner-authorization-fd")
        let wrong = bound.failure { try bound.bindErasably(owner: Self.owner(1, 2)) }
        #expect(wrong?.code == .authenticationFailed && wrong?.hint == nil)
        #expect(try store.status().epoch == 1)
        #expect(try bound.indices().isEmpty && bound.notes.isEmpty)
        try bound.bindErasably(owner: Self.owner(1, 2, 3))
        try bound.forget()
        #expect(readable() == Self.names)
        #expect(try bound.hasOneErasureSecret())
    }

    @Test func `keeps it where the owner is not at hand, and says so`() throws {
        try RawTPM(bound.swtpm.socket).persistStorageKey()
        try RawTPM(bound.swtpm.socket).setLockoutAuthorization([6])
        try bound.bindErasably()
        let indices = try bound.indices()
        try setOwner(7)
        try store.setPasscode(passcode)
        try store.rotateKeys(passcode)
        try bound.forget()
        try store.unlock(passcode)
        #expect(readable() == Self.names)
        #expect(try bound.indices() == indices && bound.hasOneErasureSecret())
        let secret = try store.status().erasureSecret
        #expect(secret?.epoch == 2 && secret?.isThere == true)
        #expect(warnings().count == 1 && warnings()[0].contains("the owner's authorization"))
        #expect(store.strayDeviceKeys().count == 1)
        let code = bound.epochs.code {
            try store.rotateKeys(passcode, on: TPMTerms(owner: Self.owner(8)))
        }
        #expect(code == .authenticationFailed)
        #expect(try store.status().epoch == 4)
        try store.rotateKeys(passcode, on: TPMTerms(owner: Self.owner(7)))
        #expect(try bound.indices() != indices && bound.hasOneErasureSecret())
        #expect(warnings().isEmpty)
    }

    @Test(arguments: [DeviceKeyPlace.ownFile, .tpm])
    func `is not given up without the owner`(_ place: DeviceKeyPlace) throws {
        try RawTPM(bound.swtpm.socket).persistStorageKey()
        try bound.bindErasably()
        try setOwner(7)
        for owner in [nil, try Self.owner(8)] {
            let code = bound.epochs.code {
                try store.rotateKeys(nil, movingDeviceKeyTo: place, on: TPMTerms(owner: owner))
            }
            #expect(code == .authenticationFailed)
        }
        #expect(try store.status().epoch == 2 && bound.hasOneErasureSecret())
        try store.rotateKeys(nil, movingDeviceKeyTo: place, on: TPMTerms(owner: Self.owner(7)))
        #expect(try store.status().erasureSecret == nil)
        #expect(try bound.indices().isEmpty && bound.notes.isEmpty)
        try bound.forget()
        #expect(readable() == Self.names)
    }

    @Test func `is not made where the TPM has no room, and stays where it has none left`() throws {
        let other = try BoundStore()
        try other.epochs.add("item")
        try RawTPM(other.swtpm.socket).fillWithIndices()
        let failure = other.failure { try other.bindErasably() }
        #expect(failure?.code == .inputOutput)
        #expect(failure?.hint?.contains("handles-nv-index") == true)
        #expect(try other.store.status().epoch == 1 && other.notes.isEmpty)
        try bound.bindErasably()
        try RawTPM(bound.swtpm.socket).fillWithIndices()
        try store.rotateKeys(nil)
        #expect(try store.status().erasureSecret?.epoch == 2 && bound.hasOneErasureSecret())
        try bound.forget()
        #expect(readable() == Self.names)
    }

    @Test func `is refused without a TPM, and of no length that a TPM takes`() throws {
        let code = bound.epochs.code {
            try store.rotateKeys(
                nil, movingDeviceKeyTo: .ownFile, on: TPMTerms(keepsErasureSecret: true))
        }
        #expect(code == .invalidRequest)
        for count in [0, 65] {
            #expect(throws: KeychainFailure.self) {
                _ = try OwnerAuthorization(SecretBytes(randomByteCount: count))
            }
        }
    }
}
