// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// spec/keys-and-states.md §5, state K and I, in the states that they are met in.
@Suite struct `A keychain without its device key` {
    let keychain = TestKeychain()
    let passcode: Passcode
    static let lockable = "\(ProtectionClass.whenUnlocked)"
    static let open = "\(ProtectionClass.afterFirstUnlock)"

    enum Loss: CaseIterable {
        case removed, ofAnotherKeychain

        var code: KeychainFailure.Code { self == .removed ? .incomplete : .keyUnavailable }
        var state: LockState { self == .removed ? .incomplete : .keyUnavailable }
    }

    init() throws { passcode = try TestKeychain.passcode("the passcode") }

    private func lose(_ loss: Loss) throws {
        keychain.store.close()
        let path = keychain.folder + "/device/device.key"
        try FileManager.default.removeItem(atPath: path)
        guard loss == .ofAnotherKeychain else { return }
        let other = TestKeychain()
        try other.add(.generic("a"))
        try FileManager.default.copyItem(
            atPath: other.folder + "/device/device.key", toPath: path)
    }

    private func prepare(_ loss: Loss, hasPasscode: Bool = true) throws {
        if hasPasscode { try keychain.store.keychain.setPasscode(passcode) }
        try keychain.addItems([.whenUnlocked, .afterFirstUnlock])
        if hasPasscode { try keychain.store.keychain.lock() }
    }

    /// How all the ways to a locked item end.
    private func codes(_ name: String, as protectionClass: ProtectionClass) -> Set<String> {
        let calls: [() throws -> Void] = [
            { _ = try keychain.value(name) },
            { _ = try keychain.named(name, as: protectionClass) },
            { try keychain.set(.generic(name, as: protectionClass), "value of \(name)") },
            {
                try keychain.add(
                    .generic("new", service: "\(Int.random(in: 0...(.max)))", as: protectionClass))
            },
        ]
        return Set(calls.map { failure($0)?.rawValue ?? "well" })
    }

    @Test(arguments: Loss.allCases)
    func `Without its device key a keychain does not ask for a passcode that was never set`(
        _ loss: Loss
    ) throws {
        try prepare(loss, hasPasscode: false)
        try lose(loss)
        for (name, protectionClass) in [
            (Self.lockable, ProtectionClass.whenUnlocked), (Self.open, .afterFirstUnlock),
        ] { #expect(codes(name, as: protectionClass) == [loss.code.rawValue]) }
        #expect(try keychain.lockState() == loss.state)
    }

    @Test(arguments: Loss.allCases)
    func `Without its device key a keychain says so before the first unlock`(_ loss: Loss) throws {
        try prepare(loss)
        try keychain.store.keychain.lock(all: true)
        try lose(loss)
        for (name, protectionClass) in [
            (Self.lockable, ProtectionClass.whenUnlocked), (Self.open, .afterFirstUnlock),
        ] { #expect(codes(name, as: protectionClass) == [loss.code.rawValue]) }
        #expect(failure { try keychain.store.keychain.unlock(passcode) } == loss.code)
        #expect(try keychain.lockState() == loss.state)
    }

    @Test(arguments: Loss.allCases)
    func `Without its device key a locked keychain says so and reads what is open`(_ loss: Loss)
        throws
    {
        try prepare(loss)
        try lose(loss)
        #expect(codes(Self.lockable, as: .whenUnlocked) == [loss.code.rawValue])
        #expect(codes(Self.open, as: .afterFirstUnlock) == ["well"])
        #expect(failure { try keychain.store.keychain.unlock(passcode) } == loss.code)
        #expect(try keychain.lockState() == loss.state)
    }

    @Test(arguments: Loss.allCases)
    func `Without its device key an unlocked keychain reads everything`(_ loss: Loss) throws {
        try prepare(loss)
        try keychain.store.keychain.unlock(passcode)
        try lose(loss)
        #expect(codes(Self.lockable, as: .whenUnlocked) == ["well"])
        #expect(codes(Self.open, as: .afterFirstUnlock) == ["well"])
        // Not needed now, but next time.
        #expect(try keychain.lockState() == loss.state)
    }

    @Test func `A keychain is locked again when its device key returns`() throws {
        try prepare(.removed)
        let path = keychain.folder + "/device/device.key"
        try FileManager.default.moveItem(atPath: path, toPath: path + "-kept")
        #expect(codes(Self.lockable, as: .whenUnlocked) == ["incomplete"])
        try FileManager.default.moveItem(atPath: path + "-kept", toPath: path)
        #expect(codes(Self.lockable, as: .whenUnlocked) == ["locked"])
    }
}
