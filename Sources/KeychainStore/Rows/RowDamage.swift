// SPDX-License-Identifier: Apache-2.0

/// What is wrong with a row that its own key does not open, or that contradicts itself.
enum RowDamage: Error, Hashable {
    /// A column has a value that no writer puts there.
    case column
    /// A sealed part does not open under the key that the row names.
    case seal
    /// What a part holds is not well formed, or not what the row's hashes say.
    case content
}
