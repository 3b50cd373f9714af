// SPDX-License-Identifier: Apache-2.0

/// The kinds of biometry. The raw values are those of Apple's systems.
public enum LABiometryType: Int, Sendable {
    /// None: there is no reader.
    case none = 0
    /// Fingers. A fingerprint reader of any maker goes by this name.
    case touchID = 1
    /// Faces; never found here.
    case faceID = 2
    /// Eyes; never found here.
    case opticID = 4

    /// The name that older code has for ``none``.
    @available(*, deprecated, renamed: "none")
    public static var LABiometryNone: LABiometryType { .none }
}
