// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetUserPresence

extension Context {
    /// What the TPM's owner gives through a descriptor; nil without one: nobody is asked for it.
    func ownerAuthorization(
        _ descriptor: PasscodeDescriptor?
    ) throws(CLIError) -> OwnerAuthorization? {
        guard let descriptor else { return nil }
        let name = SecretName(
            text: "owner's authorization", option: KeyOptions.ownerDescriptor)
        return try otherSecrets(descriptor).answer(naming: name) { problem in
            PasscodePrompt(
                description: "The authorization of the TPM's owner.", label: "Authorization",
                previousError: problem)
        } _: { (answer) throws(CLIError) in
            do throws(KeychainFailure) {
                return .accepted(try OwnerAuthorization(answer))
            } catch {
                throw CLIError(error)
            }
        }
    }
}
