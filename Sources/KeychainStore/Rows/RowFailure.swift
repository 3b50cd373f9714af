// SPDX-License-Identifier: Apache-2.0

/// Why a row was not opened.
enum RowFailure: Error, Hashable {
    /// A column has a value that no writer puts there.
    case column
    /// A sealed part does not open under the key that the row names.
    case seal
    /// What a part holds is not well formed, or not what the row's hashes say.
    case content
    /// The keychain is locked, and the row's key is one that a lock takes away.
    case locked
    /// The value is sealed to a pair of keys that takes a person, and there is no proof of one.
    case needsPerson

    /// Whether something is wrong with the row, and not with the moment.
    var isDamage: Bool {
        switch self {
        case .column, .seal, .content: true
        case .locked, .needsPerson: false
        }
    }
}
