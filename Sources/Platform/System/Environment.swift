// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// The environment variables that this process trusts: none, if it has more rights than its caller.
package struct Environment: Sendable {
    /// Whether the process has more rights than its caller (`AT_SECURE`, or real ids that differ
    /// from the effective ones). Prompts are then off, too.
    package let isElevated: Bool

    private let values: [String: String]?

    /// The environment of this process, read at each look-up.
    package static var ofProcess: Environment {
        Environment(isElevated: valet_is_elevated() != 0, values: nil)
    }

    /// An environment for tests.
    package init(_ values: [String: String], isElevated: Bool = false) {
        self.init(isElevated: isElevated, values: values)
    }

    private init(isElevated: Bool, values: [String: String]?) {
        self.isElevated = isElevated
        self.values = values
    }

    /// The value of a variable; `nil` if it is not set, not UTF-8 or not trusted.
    package func value(_ name: String) -> String? {
        guard !isElevated else { return nil }
        if let values { return values[name] }
        guard let text = unsafe getenv(name) else { return nil }
        return unsafe String(validatingCString: text)
    }

    /// As ``value(_:)``, but also `nil` for empty text, which most programs take for unset.
    package func text(_ name: String) -> String? {
        value(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The path of the program `name` in the absolute folders of `$PATH`; nil if there is none. A
    /// name with a slash is a path already.
    package func program(_ name: String) -> String? {
        guard !name.contains("/") else { return GivenFile.isProgram(name) ? name : nil }
        let folders = (value("PATH") ?? "/usr/bin:/bin").split(separator: ":")
        return folders.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
            .first(where: GivenFile.isProgram)
    }

    /// Removes a variable from this process, trusted or not. Returns its value.
    package static func remove(_ name: String) -> String? {
        let value = unsafe getenv(name).flatMap { unsafe String(validatingCString: $0) }
        unsafe unsetenv(name)
        return value
    }

    /// Whether a variable is set to bytes that are not UTF-8. If such bytes were replaced, the
    /// value could name something else.
    package func isMalformed(_ name: String) -> Bool {
        guard !isElevated, values == nil, let text = unsafe getenv(name) else { return false }
        return unsafe String(validatingCString: text) == nil
    }

    /// The home folder of the effective user as the user database has it, whatever `$HOME` says.
    ///
    /// - Throws: ``SystemError/Code/missing`` if the user database has no such entry.
    package static func homeFromUserDatabase() throws(SystemError) -> String {
        let user = geteuid()
        guard let home = unsafe text(of: user, { unsafe $0.pw_dir }) else {
            throw SystemError(
                .missing, during: "look up user \(user)",
                hint: "set VALET_HOME to a folder of user \(user)")
        }
        return home
    }

    /// The name of the real user as the user database has it, whatever `$USER` says.
    ///
    /// - Throws: ``SystemError/Code/missing`` if the user database has no such entry.
    package static func userNameFromUserDatabase() throws(SystemError) -> String {
        let user = getuid()
        guard let name = unsafe text(of: user, { unsafe $0.pw_name }) else {
            throw SystemError(.missing, during: "look up user \(user)")
        }
        return name
    }

    /// One field of a user's entry in the user database.
    private static func text(
        of user: uid_t, _ field: (passwd) -> UnsafeMutablePointer<CChar>?
    ) -> String? {
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            var entry = unsafe passwd()
            var found: UnsafeMutablePointer<passwd>?
            guard let memory = buffer.baseAddress,
                unsafe getpwuid_r(user, &entry, memory, buffer.count, &found) == 0,
                unsafe found != nil, let text = unsafe field(entry)
            else { return nil }
            return unsafe String(cString: text)
        }
    }
}
