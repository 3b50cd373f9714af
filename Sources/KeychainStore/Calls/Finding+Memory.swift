// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory

extension Finding {
    /// Whether the memory that programs of this user keep secrets in stays out of the swap. How
    /// full it was is a matter of each program.
    static var memory: Finding {
        guard let failure = SecretArena.failure, failure.code != .full else {
            return Finding(.fine, "the memory for secrets is guarded, and not swapped out")
        }
        return Finding(
            .warning, "secrets may be swapped out: \(failure)",
            hint: "allow 1 MiB of locked memory (`ulimit -l`, or LimitMEMLOCK= of a service), or "
                + "encrypt the swap")
    }
}
