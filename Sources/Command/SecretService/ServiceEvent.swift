// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainServices
internal import ValetSystem

extension SecretService {
    /// What other threads tell the thread of the bus.
    enum Event: Sendable {
        /// The call of that number has its answer.
        case answered(UInt64, Answer)
        case sessionItem(SessionItemChange, ItemPath)
        case observed(ObservedChanges)
        /// The keychain was locked or unlocked; with the properties of its collections.
        case lockChanged(isLocked: Bool, [PropertyChange])
        /// What a client can read of items that it has seen.
        case seen(_ client: String, AccessDecision?, [PropertyChange])
        case promptBegun(_ client: String, UInt64)
        /// The question of a prompt has its answer.
        case prompted(UInt64, DesktopQuestion.Answer, Consent?)
        /// Programs have got a lasting yes, or lost one.
        case grantsChanged
        case used(AccessGrant)
        /// The use of a grant could not be noted: ``notedUses``.
        case useNotNoted(_ key: String)
        case stored(_ client: String, ItemPath)
        /// The client of a prompt can hear what is unlocked.
        case completed(_ client: String, UInt64, [String])
        /// A look at the program of a process has ended.
        case looked(BusClientProcess, ProgramView)
        /// Something for the person who runs the service.
        case noted(String)
        case stopped
    }
}
