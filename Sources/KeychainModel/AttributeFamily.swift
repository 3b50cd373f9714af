// SPDX-License-Identifier: Apache-2.0

/// The group of attributes that convert and compare alike (spec/secitem.md §2.1).
package enum AttributeFamily: Hashable, Sendable {
    case blob, number, string, date, accessControl

    /// Converts what a caller gave into what is stored.
    ///
    /// - Throws: ``AttributeError`` if the family does not take values of that type.
    package func value(from input: AttributeInput) throws(AttributeError) -> AttributeValue {
        let converted: AttributeValue? =
            switch self {
            case .blob: blob(from: input)
            case .number: number(from: input)
            case .string: string(from: input)
            case .date: if case .date(let seconds) = input { .date(seconds) } else { nil }
            case .accessControl:
                if case .accessControl(let bytes) = input { .accessControl(bytes) } else { nil }
            }
        guard let converted else { throw AttributeError.wrongType }
        return converted
    }

    private func blob(from input: AttributeInput) -> AttributeValue? {
        switch input {
        case .text(let text): .text(text)
        case .bytes(let bytes): .bytes(bytes)
        case .number(let number): .number(number)
        case .boolean, .date, .uuid, .accessControl, .unsupported: nil
        }
    }

    private func number(from input: AttributeInput) -> AttributeValue? {
        switch input {
        case .number(let number): .number(number)
        case .boolean(let flag): .number(flag ? 1 : 0)
        case .text(let text):
            // Only the text that the number itself would print as is a number: "007" stays text.
            if let number = Int32(text), String(number) == text {
                .number(Int64(number))
            } else {
                .text(text)
            }
        case .bytes, .date, .uuid, .accessControl, .unsupported: nil
        }
    }

    private func string(from input: AttributeInput) -> AttributeValue? {
        switch input {
        case .text(let text), .uuid(let text): .text(text)
        case .bytes(let bytes): String(utf8: bytes).map(AttributeValue.text)
        case .number, .boolean, .date, .accessControl, .unsupported: nil
        }
    }
}

/// Why a value was not taken.
package enum AttributeError: Error, Hashable, Sendable {
    /// The attribute does not take values of this type (errSecParam).
    case wrongType
}
