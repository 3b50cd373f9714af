// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetKeychainStore

@Suite struct `An item for a backup` {
    private func code(
        _ properties: NewItem, value: SecretValue? = nil
    ) -> BackupFault? {
        do throws(KeychainFailure) {
            _ = try BackupItem(properties, logicalTime: 0, value: value)
            return nil
        } catch {
            #expect(error.operation == "put an item into a backup")
            return error.fault
        }
    }

    private func properties(
        _ attributes: ItemAttributes = [:],
        protectionClass: ProtectionClass = .whenUnlocked
    ) -> NewItem {
        NewItem(
            .genericPassword, attributes: attributes, accessGroup: AccessGroup("g"),
            protectionClass: protectionClass)
    }

    // Promise: 10.2
    @Test(arguments: ProtectionClass.allCases)
    func `An item for a backup is not one of this device only`(_ protectionClass: ProtectionClass) {
        let code = code(properties(protectionClass: protectionClass))
        #expect(code == (protectionClass.isThisDeviceOnly ? .notMigratable : nil))
    }

    // Promise: 10.2
    @Test func `An item for a backup has no access control`() {
        #expect(code(properties([.accessControl: .accessControl([1])])) == .notMigratable)
        #expect(code(properties([.accessControl: .bytes([1])])) == .notMigratable)
        #expect(code(properties([.comment: .accessControl([1])])) == .notMigratable)
    }

    @Test(arguments: [.accessGroup, .synchronizable, .accessible, .server, .port] as [Attribute])
    func `An item for a backup has no attribute that is a property, or of another class`(
        _ attribute: Attribute
    ) {
        #expect(code(properties([attribute: .text("x")])) == .invalidItem)
    }

    @Test func `An item for a backup has a group`() {
        #expect(code(NewItem(.genericPassword, attributes: [:])) == .invalidItem)
    }

    @Test func `An item for a backup is not larger than the reader takes`() {
        let limit = 16 << 20
        let large = SecretValue(SecretBytes(byteCount: limit + 1))
        #expect(code(properties(), value: large) == .tooLarge)
        #expect(code(properties(), value: SecretValue(SecretBytes(byteCount: limit))) == nil)
        // The list has 6 bytes beside each attribute, and one byte of the group's name.
        let most = [UInt8](repeating: 0, count: limit - 13)
        #expect(code(properties([.comment: .bytes(most)])) == nil)
        #expect(code(properties([.comment: .bytes(most + [0])])) == .tooLarge)
    }
}

@Suite struct `What a failed backup says` {
    @Test func `The error of a backup helps, and names the file and the place`() {
        let error = KeychainFailure(.damaged, during: .read, path: "/tmp/b", at: .chunk(3))
        #expect("\(error)" == "could not read the backup: it is damaged, in chunk 3 (/tmp/b)")
        #expect(error.hint == "use another copy of this backup, or an older backup")
    }

    @Test func `The error of a backup is one line in lower case for every code`() {
        for fault in BackupFault.allCases {
            let text = "\(KeychainFailure(fault, during: .write))"
            #expect(text.hasPrefix("could not make a backup: "))
            #expect(!text.contains("\n") && !text.hasSuffix("."))
        }
    }
}
