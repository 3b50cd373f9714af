// SPDX-License-Identifier: Apache-2.0

/// An argument of a call, an answer or a signal: of the types of D-Bus, those that are met.
package enum BusValue: Hashable, Sendable {
    /// A string, an object path or a signature.
    case text(String)
    /// A boolean.
    case flag(Bool)
    /// A number of 32 bits, with or without a sign.
    case number(Int64)
    /// An array. A variant is what is in it.
    case list([BusValue])

    /// The text; `nil` if it is something else.
    package var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The texts of an array of nothing else; `nil` if it is something else.
    package var texts: [String]? {
        guard case .list(let values) = self else { return nil }
        let texts = values.compactMap(\.text)
        return texts.count == values.count ? texts : nil
    }
}
