// SPDX-License-Identifier: Apache-2.0

extension Unicode.Scalar {
    /// Whether a terminal or a window could do more with it than show it, or less: controls, what
    /// turns the direction of writing or joins and splits letters, tags, and all else that is there
    /// without being seen.
    package var isActive: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: properties.isDefaultIgnorableCodePoint
        }
    }
}
