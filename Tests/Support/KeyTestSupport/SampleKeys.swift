// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import ValetKeychainModel
package import ValetKeys
package import ValetSealing

/// Keys that any process can make again: each is a hash of its place.
package struct SampleKeys: Sendable {
    package let keychainID: KeychainID

    package init(_ keychainID: KeychainID) { self.keychainID = keychainID }

    /// The keys of epoch `number`, of all classes or without the one that needs a passcode.
    package func epoch(
        _ number: UInt64, withPasscodeClass: Bool = true, withPerson: Bool = false,
        withSync: Bool = false
    ) throws -> OpenedKeys {
        var classes: [ClassKeys] = []
        for protectionClass in ProtectionClass.allCases
        where withPasscodeClass || protectionClass != .whenPasscodeSetThisDeviceOnly {
            classes.append(
                ClassKeys(
                    protectionClass: protectionClass, keyID: try keyID(protectionClass, number),
                    attributes: try key("attributes", protectionClass, number),
                    value: try key("value", protectionClass, number)))
        }
        let index: IndexKey = try key("index", nil, number)
        let keybag = UnlockedKeybag(
            keychainID: keychainID, epoch: Epoch(number), index: index, classes: classes,
            OpenedSecrets(
                person: withPerson ? try key("person", nil, number) : nil,
                firstUnlockSync: withSync ? try key("sync f", nil, number) : nil,
                unlockedSync: withSync ? try key("sync u", nil, number) : nil))
        return OpenedKeys(keybag, digest: mark(number).digest)
    }

    /// Whether the secret half of the presence pair `person` is there, and the right one.
    package func hasPerson(_ keys: OpenedKeys, of number: UInt64) throws -> Bool {
        let expected: AgreementSecret = try key("person", nil, number)
        switch keys.keybag.person {
        case .some(let person): return person.isEqual(to: expected)
        case .none: return false
        }
    }

    /// The scopes whose sync secret is there, and the right one.
    package func syncScopes(_ keys: OpenedKeys, of number: UInt64) throws -> [KeyScope] {
        try KeyScope.allCases.filter { scope in
            let name = scope == .afterFirstUnlock ? "sync f" : "sync u"
            let expected: SyncSecret = try key(name, nil, number)
            switch keys.keybag.syncSecret(scope) {
            case .some(let secret): return secret.isEqual(to: expected)
            case .none: return false
            }
        }
    }

    /// What epoch `number` is recognised by.
    package func mark(_ number: UInt64) -> EpochMark {
        EpochMark(epoch: Epoch(number), digest: digest("keybag", nil, number))
    }

    /// `unlocked 1[ak ck …]`, `locked 1[ck …] notUnlocked`, `before notUnlocked`, `unknown …`: the
    /// classes whose keys are the right ones, and `wrong` for each that is not.
    package func text(_ reading: LockStatus) throws -> String {
        switch reading {
        case .unlocked(let keys): "unlocked " + (try text(keys))
        case .locked(let keys, let cause): "locked \(try text(keys)) \(text(cause))"
        case .beforeFirstUnlock(let cause): "before \(text(cause))"
        case .unknown(let error): "unknown \(error)"
        }
    }

    private func text(_ cause: LockCause) -> String {
        switch cause {
        case .invalid(let error): "invalid:\(error.code)"
        case .kernelRefuses(let error): "refused:\(error.code)"
        default: "\(cause)"
        }
    }

    private func text(_ keys: OpenedKeys) throws -> String {
        let number = keys.keybag.epoch.rawValue
        let index: IndexKey = try key("index", nil, number)
        var words = ProtectionClass.allCases.compactMap { protectionClass in
            keys.keybag.keys(of: protectionClass).map { isRight($0, number) }
        }
        if keys.mark != mark(number) || !keys.keybag.index.isEqual(to: index)
            || keys.keybag.keychainID != keychainID
        {
            words.append("wrong")
        }
        return "\(number)[\(words.joined(separator: " "))]"
    }

    private func isRight(_ keys: ClassKeys, _ number: UInt64) -> String {
        let protectionClass = keys.protectionClass
        guard let attributes: AttributesSubkey = try? key("attributes", protectionClass, number),
            let value: ValueSubkey = try? key("value", protectionClass, number),
            attributes.isEqual(to: keys.attributes), value.isEqual(to: keys.value),
            keys.keyID == (try? keyID(protectionClass, number))
        else { return "wrong" }
        return protectionClass.code
    }

    private func keyID(_ protectionClass: ProtectionClass, _ number: UInt64) throws -> KeyID {
        try KeyID(Array(digest("key id", protectionClass, number).bytes.prefix(16)))
    }

    private func key<P>(
        _ what: String, _ protectionClass: ProtectionClass?, _ number: UInt64
    ) throws -> SymmetricKey<P> {
        try SymmetricKey(copying: digest(what, protectionClass, number).bytes.span)
    }

    private func digest(
        _ what: String, _ protectionClass: ProtectionClass?, _ number: UInt64
    ) -> Digest {
        let place = Array("\(keychainID) \(what) \(protectionClass?.code ?? "-") \(number)".utf8)
        return Digest(of: place.span)
    }
}

/// Folders of keychains for tests, which processes of one user find by the keychain's id.
package enum SamplePlaces {
    /// The places of a keychain: folders of this user's in `base`, which all users may write.
    ///
    /// - Parameter runtimeRoot: Where the runtime folders of users are; nil for nowhere.
    package static func places(
        of keychain: KeychainID, in base: String, runtimeRoot: String? = nil
    ) -> SharingPlaces {
        let own = "\(base)/\(geteuid())"
        let folder = "\(own)/\(keychain)"
        for path in [own, folder, folder + "/device"] { _ = unsafe mkdir(path, 0o700) }
        return SharingPlaces(
            folder: folder, deviceFolder: folder + "/device",
            runtimeRoot: runtimeRoot ?? base + "/none")
    }
}

extension LockStateStore {
    /// Publishes keys for an unlock that begins now. The caller holds the writers' lock.
    package func publish(
        _ opened: OpenedKeys, within limits: UnlockLimits
    ) throws(KeychainFailure) {
        try? preparePage()
        try publish(opened, within: limits, since: moment())
    }
}
