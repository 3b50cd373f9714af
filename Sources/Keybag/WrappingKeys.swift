// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing

/// What the keys of one epoch are wrapped under: docs/FORMAT.md §4.2.
struct WrappingKeys: ~Copyable {
    let root: RootKey
    let device: DeviceKEK?
    let passcode: PasscodeKEK?

    init(root: consuming RootKey, device: consuming DeviceKEK?, passcode: consuming PasscodeKEK?) {
        self.root = root
        self.device = device
        self.passcode = passcode
    }

    /// A root key, and what `protector` has.
    init(
        root: consuming RootKey, _ protector: borrowing some Protector & ~Copyable,
        keychainID: KeychainID
    ) {
        self.root = root
        device = protector.deviceKEK(for: keychainID)
        passcode = protector.passcodeKEK(for: keychainID)
    }

    /// What wraps the key of `protectionClass`; nil if that takes a key which is not here.
    func kek(of protectionClass: ProtectionClass) -> ClassKEK? {
        guard protectionClass.isThisDeviceOnly else {
            return KeyedHash.derive(from: root, .classKEK) { $0.append(protectionClass.code) }
        }
        let needsPasscode = protectionClass == .whenPasscodeSetThisDeviceOnly
        var hash = KeyedHash(root, needsPasscode ? .classKEKPasscode : .classKEKDevice)
        hash.append(protectionClass.code)
        switch device {
        case .some(let device): hash.append(device)
        case .none: return nil
        }
        guard needsPasscode else { return hash.derive() }
        switch passcode {
        case .some(let passcode): hash.append(passcode)
        case .none: return nil
        }
        return hash.derive()
    }

    /// What wraps the secret half of a presence pair; nil if that takes a key which is not here.
    func kek(of pair: PresencePair) -> PresenceKEK? {
        var hash = KeyedHash(root, pair == .passcode ? .presencePasscode : .presencePerson)
        switch device {
        case .some(let device): hash.append(device)
        case .none: return nil
        }
        guard pair == .passcode else { return hash.derive() }
        switch passcode {
        case .some(let passcode): hash.append(passcode)
        case .none: return nil
        }
        return hash.derive()
    }

    /// What wraps the index key.
    var indexKEK: IndexKEK { KeyedHash.derive(from: root, .indexKEK) }
}
