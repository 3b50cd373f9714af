// SPDX-License-Identifier: Apache-2.0

/// Texts for units of systemd.
package enum UnitText {
    /// `path`, quoted as a word of a command line in a unit (systemd.service(5), "Command lines").
    package static func quoted(_ path: String) -> String {
        var quoted = "\""
        for character in path {
            if character == "\"" || character == "\\" { quoted.append("\\") }
            quoted.append(character)
            if character == "%" || character == "$" { quoted.append(character) }
        }
        return quoted + "\""
    }
}
