// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// The variables that this process may believe: none if it has more rights than its caller.
package enum TrustedEnvironment {
    /// The value of the variable `name`; nil if it is not set or must not be believed.
    package static func value(_ name: String) -> String? {
        Environment.ofProcess.value(name)
    }
}
