// SPDX-License-Identifier: Apache-2.0

/// The key file that every Flatpak sandbox has at its root.
enum FlatpakInfo {
    /// The value of `name` in the group `Application`; nil without one.
    static func applicationName(in text: String) -> String? {
        var isInGroup = false
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("[") {
                isInGroup = line == "[Application]"
            } else if isInGroup, let separator = line.firstIndex(of: "=") {
                let key = line[..<separator].filter { $0 != " " }
                let value = line[line.index(after: separator)...].drop { $0 == " " }
                if key == "name" && !value.isEmpty { return String(value) }
            }
        }
        return nil
    }
}
