// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Where the opened keys of a keychain lie, and why there.
package struct LockStateProvider: Hashable, Sendable {
    /// The two places.
    package enum Place: String, Hashable, Sendable {
        /// The kernel's user keyring: all processes of the user share the state.
        case kernel
        /// The memory of this process: each process unlocks for itself.
        case process
    }

    /// Where the keys lie.
    package let place: Place
    /// Why, in words for `valet status` and `valet doctor`.
    package let reason: String

    init(_ place: Place, _ reason: String) {
        self.place = place
        self.reason = reason
    }

    /// What the choice depends on.
    package struct Circumstances: Hashable, Sendable {
        /// The value of `VALET_LOCK_STATE`, `kernel` or `process`; nil if it is not set or must not
        /// be believed.
        package var setting: String?
        /// The effective user id.
        package var user: UInt32
        /// Whether the process has more rights than whoever started it.
        package var isElevated: Bool
        /// Why the kernel gives no keyrings; nil if it does.
        package var refusal: LockStateError?

        /// Describes a process.
        package init(
            setting: String?, user: UInt32, isElevated: Bool,
            refusal: LockStateError? = LockStateProvider.kernelRefusal()
        ) {
            self.setting = setting
            self.user = user
            self.isElevated = isElevated
            self.refusal = refusal
        }

        /// Describes this process; the parameters are those of the other initialiser.
        package static func ofProcess(setting: String?, isElevated: Bool) -> Circumstances {
            Circumstances(setting: setting, user: geteuid(), isElevated: isElevated)
        }
    }

    /// Chooses. Whatever is in doubt stays within the process.
    package init(for process: Circumstances) {
        // The user keyring is that of the real user, who could read what lies in it.
        if process.isElevated {
            self.init(.process, "this program has more rights than its caller")
        } else if let refusal = process.refusal {
            self.init(.process, "\(refusal)")
        } else {
            self.init(setting: process.setting, user: process.user)
        }
    }

    private init(setting: String?, user: UInt32) {
        switch setting {
        case "kernel": self.init(.kernel, "VALET_LOCK_STATE says so")
        case "process": self.init(.process, "VALET_LOCK_STATE says so")
        case .some: self.init(.process, "VALET_LOCK_STATE is neither kernel nor process")
        case .none where Self.isLoginUser(user):
            self.init(.kernel, "user \(user) is one that logs in")
        case .none: self.init(.process, "user \(user) is not one that logs in")
        }
    }

    /// Why the kernel, or a sandbox, gives this process no keyrings; nil if it does. One system
    /// call.
    package static func kernelRefusal() -> LockStateError? { KernelKeyring.refusal() }

    /// Root, and the ids that login.defs(5) has for people.
    private static func isLoginUser(_ user: UInt32) -> Bool {
        user == 0 || (1000...60_000).contains(user)
    }
}
