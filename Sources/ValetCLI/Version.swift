// SPDX-License-Identifier: Apache-2.0

/// The version that `valet --version` names.
enum Version {
    static let current = "0.1.0"
}
