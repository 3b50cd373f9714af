// SPDX-License-Identifier: Apache-2.0

/// An epoch change that somebody has begun, with what the rest of it takes. It lives as long as the
/// call that began it: docs/FORMAT.md §4.7.
struct BegunEpoch {
    /// The opened keys of both epochs: the keychain may be locked.
    let keys: KeychainState
    /// What opens values that take a person; nil without a passcode.
    let proof: PresenceProof?
}
