// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetSystem
internal import ValetUserPresence

/// One authentication: asks a person for what is demanded and not proved yet.
///
/// Fingers come first, where they are enough or a part of it; the passcode takes their place where
/// they fail, are not shown in half of the time, or the person prefers it, and it may. Each is
/// tried three times, fingers by the reader itself. All of it is done by the deadline, but for the
/// two seconds that ending a pinentry may take.
struct PersonAuthentication {
    let question: SecretQuestion
    /// What stands on the button that takes the passcode in place of a finger.
    let fallbackTitle: String?
    /// The passcode that the application has given.
    let credential: SecretValue?
    let store: ItemStore

    var means: AuthenticationMeans { question.means }
    var deadline: Deadline { question.deadline }
    var cancellation: PromptCancellation { question.cancellation }

    /// Has everything proved that `demands` take; `known` is what was proved before.
    ///
    /// - Returns: What was proved, `known` included.
    func prove(
        _ demands: [AccessControl], beside known: PresenceProof?
    ) throws(AuthenticationRefusal) -> PresenceProof {
        let way = try way(to: demands, beside: known)
        var proof = known
        if way.factors.contains(.fingerprint) {
            let hasOther = demands.allSatisfy {
                $0.demand.isMet(by: Self.shown(known, for: $0).union(.passcode))
            }
            do throws(AuthenticationRefusal) {
                // What comes after it takes time, too.
                let leavesTime = hasOther || way.factors.contains(.passcode)
                let time = deadline.remaining / (leavesTime ? 2 : 1)
                let finger = try proveFinger(
                    of: way.enrolment, orPasscode: hasOther, until: Deadline(after: time))
                proof = merged(proof, finger)
            } catch {
                guard error.leavesPasscode, hasOther else { throw error }
                return merged(proof, try provePasscode())
            }
        }
        if way.factors.contains(.passcode) { proof = merged(proof, try provePasscode()) }
        guard let proof else { throw .impossible }
        return proof
    }

    func hasPasscode() throws(AuthenticationRefusal) -> Bool {
        do throws(KeychainFailure) {
            let found = try store.availability()
            if let fault = found.fault { throw fault }
            return found.state != .noPasscode && found.state != .absent
        } catch {
            throw .keychain(error)
        }
    }

    private static func shown(
        _ known: PresenceProof?, for accessControl: AccessControl
    ) -> AccessControl.Factors {
        known?.factors(for: accessControl) ?? []
    }

    private func merged(_ known: PresenceProof?, _ newer: PresenceProof) -> PresenceProof {
        known?.adding(newer) ?? newer
    }
}
