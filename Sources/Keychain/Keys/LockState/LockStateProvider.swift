// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The place of a keychain's opened keys, and the reason for it.
///
/// Keys are shared only if a person is logged in. Services and containers keep keys of their own.
/// The kernel's keyrings distinguish neither, so a container would share the keys of the user with
/// the same user id.
package struct LockStateProvider: Hashable, Sendable {
    package enum Place: String, Hashable, Sendable {
        /// The kernel's user keyring: all processes of the user share the state.
        case kernel
        /// The memory of this process: each process unlocks for itself.
        case process
    }

    package let place: Place
    /// Why, in words for `valet status` and `valet doctor`.
    package let reason: String

    package init(_ place: Place, _ reason: String) {
        self.place = place
        self.reason = reason
    }

    /// The values of `VALET_LOCK_STATE`.
    package static let settings = [Place.kernel, .process].map(\.rawValue)

    /// The facts on which the choice depends.
    package struct Circumstances: Hashable, Sendable {
        /// The value of `VALET_LOCK_STATE`, one of ``LockStateProvider/settings``; nil if it is not
        /// set or not trusted.
        package var setting: String?
        /// The effective user id.
        package var user: UInt32 = 0
        /// Whether the process has more rights than its caller.
        package var isElevated = false
        /// Why the kernel refuses keyrings; nil if it does not.
        package var refusal: KeychainFailure?
        /// Whether the kernel gives a boot id.
        package var hasBootID = true
        /// The sign that this is a container; nil outside of one.
        package var container: String?
        /// Whether user ids differ from the machine's (user_namespaces(7)).
        package var hasOwnUserIDs = false
        /// Whether the clock differs from the machine's (time_namespaces(7)).
        package var hasOwnClock = false
        /// The paths of this process in cgroups(7): of version 2, and of systemd's own hierarchy.
        package var groups: [String] = []
        /// The login user of audit(8).
        package var login = Login.absent
        /// Whether this is the Windows Subsystem for Linux.
        package var isWSL = false

        /// The login user id that the kernel keeps for a process.
        package enum Login: Hashable, Sendable {
            /// A person has logged in, and this process belongs to them.
            case set
            /// Nobody has logged in: this process belongs to a service.
            case unset
            /// The kernel keeps no login user.
            case absent
        }

        /// Describes an ordinary process outside of containers, for which the kernel keeps no login
        /// user.
        package init() {}
    }

    /// Chooses the place; in doubt, the process: docs/FORMAT.md §10.7.
    package init(for process: Circumstances) {
        if process.isElevated {
            self.init(.process, "this program has more rights than its caller")
        } else if let refusal = process.refusal {
            self.init(.process, "\(refusal)")
        } else if !process.hasBootID {
            self.init(.process, "the kernel gives no boot id")
        } else if let setting = process.setting {
            self.init(Place(rawValue: setting) ?? .process, "VALET_LOCK_STATE is set")
        } else if let reason = process.reasonAgainstSharing {
            self.init(.process, reason)
        } else if let reason = process.reasonForSharing {
            self.init(.kernel, reason)
        } else {
            self.init(.process, "nobody has logged in here")
        }
    }

    /// Why the kernel or a sandbox refuses keyrings to this process; nil if it does not. One system
    /// call.
    package static func kernelRefusal() -> KeychainFailure? { KernelKeyring.refusal() }
}

extension LockStateProvider.Circumstances {
    private static let serviceSlices = ["system.slice", "machine.slice"]
    private static let containerGroups = ["docker", "kubepods", "lxc"]
    /// The user ids of people in login.defs(5).
    private static let people: ClosedRange<UInt32> = 1000...60_000

    fileprivate var reasonAgainstSharing: String? {
        if let container { return "this is a container: \(container)" }
        if hasOwnUserIDs { return "this is a user namespace" }
        if hasOwnClock { return "this is a time namespace" }
        for group in groups {
            if Self.serviceSlices.contains(where: { group.hasPrefix($0) }) {
                return "this is a service: it runs in \(group)"
            }
            if Self.containerGroups.contains(where: { group.hasPrefix($0) })
                || group.hasPart("libpod-")
            {
                return "this is a container: it runs in \(group)"
            }
        }
        return nil
    }

    fileprivate var reasonForSharing: String? {
        switch login {
        case .set: return "a user has logged in"
        case .absent where groups.contains { $0.hasPrefix("user.slice") }:
            return "this is a user's session"
        case .absent, .unset:
            return isWSL && Self.people.contains(user) ? "user \(user) is an ordinary user" : nil
        }
    }

    /// Describes this process.
    ///
    /// - Parameters:
    ///   - read: Reads the text of a file; nil if it cannot.
    ///   - exists: Whether a path exists, or may exist.
    package static func ofProcess(
        setting: String?, isElevated: Bool,
        reading read: (String) -> String? = { TextFile.contents($0) },
        exists: (String) -> Bool = GivenFile.mayExist
    ) -> Self {
        var process = Self()
        process.setting = setting
        process.user = geteuid()
        process.isElevated = isElevated
        process.refusal = LockStateProvider.kernelRefusal()
        process.hasBootID = BootID.exists
        process.container = container(read, exists)
        // A kernel without such namespaces has no such file. One that cannot be read may say yes.
        let (users, clocks) = ("/proc/self/uid_map", "/proc/self/timens_offsets")
        process.hasOwnUserIDs = read(users).map { !isIdentity($0) } ?? exists(users)
        process.hasOwnClock = read(clocks).map(hasOffset) ?? exists(clocks)
        process.groups = groups(read("/proc/self/cgroup") ?? "")
        process.login = login(read("/proc/self/loginuid"))
        process.isWSL =
            read("/proc/sys/kernel/osrelease")?.lowercased().hasPart("microsoft") ?? false
        return process
    }

    private static func container(
        _ read: (String) -> String?, _ exists: (String) -> Bool
    ) -> String? {
        for path in ["/.dockerenv", "/run/.containerenv"] where exists(path) { return path }
        let name =
            read("/run/systemd/container")?.split(whereSeparator: \.isNewline).first
            .map(String.init)
            ?? read("/proc/1/environ")?.split(separator: "\0").first { $0.hasPrefix("container=") }
            .map { String($0.dropFirst("container=".count)) }
        // Under WSL people log in, although it is technically a container.
        return name == "wsl" || name?.isEmpty == true ? nil : name
    }

    /// Whether all user ids equal the machine's.
    private static func isIdentity(_ map: String) -> Bool {
        map.split(whereSeparator: \.isWhitespace).elementsEqual(["0", "0", "4294967295"])
    }

    /// Whether CLOCK_BOOTTIME differs from the machine's.
    private static func hasOffset(_ offsets: String) -> Bool {
        offsets.split(whereSeparator: \.isNewline).contains { line in
            let words = line.split(whereSeparator: \.isWhitespace)
            return words.first == "boottime" && words.dropFirst().contains { $0 != "0" }
        }
    }

    /// The cgroup paths of version 2 and of systemd's own hierarchy, without the leading slash.
    private static func groups(_ text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            let fields = line.split(
                separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[1].isEmpty || fields[1] == "name=systemd" else {
                return nil
            }
            return String(fields[2].drop { $0 == "/" })
        }
    }

    private static func login(_ text: String?) -> Login {
        guard let number = text.flatMap({ UInt32($0.filter { !$0.isWhitespace }) }) else {
            return .absent
        }
        return number == .max ? .unset : .set
    }
}
