// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// What lies beside the device key while keys are changed, and what somebody put there.
@Suite struct `The folder of the device key` {
    let keychain = TestKeychain()
    let folder: String

    init() throws {
        folder = keychain.folder + "/device"
        try keychain.add("a")
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
    }

    private func mark() throws {
        let path = keychain.folder + "/erase.pending"
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    private func plant(_ name: String, _ contents: Data = Data(count: 122)) throws {
        let path = folder + "/" + name
        #expect(FileManager.default.createFile(atPath: path, contents: contents))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    enum Writing: CaseIterable { case item, recoveryKey }

    @Test(arguments: Writing.allCases)
    func `The next write cleans the device key folder after a key change that failed`(
        _ writing: Writing
    ) throws {
        try plant("device.key.0123456789abcdef0123456789abcdef")
        try mark()
        keychain.store.close()
        switch writing {
        case .item: try keychain.add("b")
        case .recoveryKey: _ = try keychain.store.keychain.createRecoveryKey(nil)
        }
        #expect(try names == ["device.key"])
        #expect(try !keychain.store.keychain.status().isErasePending)
    }

    @Test func `The device key folder keeps files with other names`() throws {
        try plant("device.keys")
        try plant("notes")
        try keychain.store.keychain.rotateKeys(nil)
        #expect(try names == ["device.key", "device.keys", "notes"])
    }

    // Promise: 14.9
    @Test func `A link in the device key folder is not followed`() throws {
        let outside = TestKeychain.newFolder()
        #expect(FileManager.default.createFile(atPath: outside, contents: Data("mine".utf8)))
        defer { try? FileManager.default.removeItem(atPath: outside) }
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/device.key.0123456789abcdef0123456789abcdef",
            withDestinationPath: outside)
        try keychain.store.keychain.rotateKeys(nil)
        #expect(try Data(contentsOf: URL(fileURLWithPath: outside)) == Data("mine".utf8))
    }

    enum Foreign: String, CaseIterable {
        case link, folder, readableForOthers
    }

    /// Puts something there that the keychain must not touch.
    private func plant(_ foreign: Foreign) throws -> String {
        let name = "device.key.0123456789abcdef0123456789abcdef"
        let path = folder + "/" + name
        switch foreign {
        case .link:
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: "/dev/null")
        case .folder:
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false)
        case .readableForOthers:
            try plant(name)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        }
        return path
    }

    private func strays() -> [Finding] {
        keychain.store.keychain.diagnose().filter { $0.path?.hasPrefix(folder) == true }
    }

    // Promise: 14.9
    @Test(arguments: Foreign.allCases)
    func `A key change ignores foreign files in the device key folder`(
        _ foreign: Foreign
    ) throws {
        let path = try plant(foreign)
        for epoch in 2...3 as ClosedRange<UInt64> {
            try keychain.store.keychain.rotateKeys(nil)
            let status = try keychain.store.keychain.status()
            #expect(status.epoch == epoch && !status.isErasePending)
            #expect(try names == ["device.key", URL(fileURLWithPath: path).lastPathComponent])
            #expect(strays().map(\.path) == [path])
            #expect(strays().allSatisfy { $0.severity == .warning })
            #expect(strays().first?.hint?.contains("move it away") == true)
        }
        #expect(try keychain.value("a") == "value of a")
        try FileManager.default.removeItem(atPath: path)
        #expect(strays().isEmpty)
    }

    @Test func `A foreign file in the place of the device key is reported`() throws {
        try keychain.store.keychain.rotateKeys(nil)
        let file = try DeviceSecretSource(location: keychain.store.location).given(by: .ownFile)
        let own = DeviceSecretSource.name(ofKey: file.secret.id)
        try FileManager.default.moveItem(
            atPath: folder + "/device.key", toPath: folder + "/" + own)
        try FileManager.default.createDirectory(
            atPath: folder + "/device.key", withIntermediateDirectories: false)
        keychain.store.close()
        try keychain.store.keychain.rotateKeys(nil)
        keychain.store.close()
        #expect(try keychain.value("a") == "value of a")
        #expect(try names.count == 2 && !names.contains(own))
        #expect(try !keychain.store.keychain.status().isErasePending)
        #expect(strays().map(\.path) == [folder + "/device.key"])
    }

    @Test func `A device key under the name of its id is found`() throws {
        try keychain.store.keychain.rotateKeys(nil)
        let file = try DeviceSecretSource(location: keychain.store.location).given(by: .ownFile)
        let name = DeviceSecretSource.name(ofKey: file.secret.id)
        try FileManager.default.moveItem(
            atPath: folder + "/device.key", toPath: folder + "/" + name)
        keychain.store.close()
        #expect(try keychain.value("a") == "value of a")
        try mark()
        keychain.store.close()
        try keychain.add("b")
        #expect(try names == ["device.key"])
    }

    @Test func `An unsafe device key is named`() throws {
        try keychain.store.keychain.rotateKeys(nil)
        let file = try DeviceSecretSource(location: keychain.store.location).given(by: .ownFile)
        let path = folder + "/" + DeviceSecretSource.name(ofKey: file.secret.id)
        try FileManager.default.moveItem(atPath: folder + "/device.key", toPath: path)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        keychain.store.close()
        #expect(failure { _ = try keychain.value("a") } == .insecureFiles)
    }
}
