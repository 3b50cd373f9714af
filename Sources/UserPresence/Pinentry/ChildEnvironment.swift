// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// What a pinentry program gets to know of the environment.
enum ChildEnvironment {
    /// Where it may look for programs of its own.
    static let path = "/usr/local/bin:/usr/bin:/bin"

    private static let names = [
        "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
        "TERM", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES",
    ]

    /// `NAME=value` of what it needs to show itself, and nothing else.
    static func variables(from environment: Environment) -> [String] {
        ["PATH=" + path]
            + names.compactMap { name in environment.value(name).map { name + "=" + $0 } }
    }

    /// Whether there is a screen that it could use without a terminal.
    static func hasScreen(_ environment: Environment) -> Bool {
        ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment.value($0)?.isEmpty == false }
    }

    /// The locale of text, as the C library chooses it.
    static func textLocale(_ environment: Environment) -> String {
        for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
            if let value = environment.value(name), !value.isEmpty { return value }
        }
        return "C.UTF-8"
    }
}
