// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing

/// The opened keys of one epoch, and the ids of those that are not open.
struct KeychainEpoch: Sendable {
    let keys: UnlockedKeybag
    let hasher: IndexHasher
    /// The public halves of the presence pairs; none where there are no pairs.
    let recipients: [PresencePair: Recipient]
    /// By the number of the class.
    private let keyIDs: [KeyID?]

    /// - Throws: ``KeybagError``: `malformed`, `newer`.
    init(_ locked: LockedKeybag, _ keys: UnlockedKeybag) throws(KeybagError) {
        self.keys = keys
        hasher = IndexHasher(keys)
        var ids = [KeyID?](repeating: nil, count: 1 + ProtectionClass.allCases.count)
        for protectionClass in ProtectionClass.allCases {
            ids[Int(protectionClass.rawValue)] = try locked.keyID(of: protectionClass)
        }
        keyIDs = ids
        var recipients: [PresencePair: Recipient] = [:]
        for pair in PresencePair.allCases {
            guard let publicKey = try locked.publicKey(of: pair) else { continue }
            recipients[pair] = Recipient(
                publicKey, keychainID: locked.keychainID, epoch: locked.epoch)
        }
        self.recipients = recipients
    }

    /// Whether there is a key of that class, open or not.
    func hasKey(of protectionClass: ProtectionClass) -> Bool {
        keyIDs[Int(protectionClass.rawValue)] != nil
    }

    /// Whether every key that there is is open.
    var isComplete: Bool {
        ProtectionClass.allCases.allSatisfy { !hasKey(of: $0) || keys.keys(of: $0) != nil }
    }

    /// Whether `header` names the key of its class in this epoch.
    func isNamed(by header: RowHeader) -> Bool {
        keyIDs[Int(header.protectionClass.rawValue)] == header.keyID
    }
}
