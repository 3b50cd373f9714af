// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

extension AttributeInput {
    /// What a caller put into a dictionary, seen as a type that attributes know.
    ///
    /// Values may be boxed in `AnyHashable` or an optional. A boolean is a `Bool` or an `NSNumber`
    /// made of one; a number 1 is none (spec/secitem.md §3.1).
    init(_ value: Any) {
        if let text = value as? String {
            self = .text(text)
        } else if let data = value as? Data {
            self = .bytes([UInt8](data))
        } else if let number = value as? NSNumber {
            self.init(number)
        } else if let date = value as? Date, date.timeIntervalSinceReferenceDate.isFinite {
            self = .date(date.timeIntervalSinceReferenceDate)
        } else if let uuid = value as? UUID {
            self = .uuid(uuid.uuidString)
        } else {
            self = .unsupported
        }
    }

    private init(_ number: NSNumber) {
        // The two booleans are objects of their own, which no number is.
        if number === Self.yes {
            self = .boolean(true)
        } else if number === Self.no {
            self = .boolean(false)
        } else if Double(number.int64Value) == number.doubleValue {
            self = .number(number.int64Value)
        } else {
            self = .unsupported
        }
    }

    private static let yes = NSNumber(value: true)
    private static let no = NSNumber(value: false)
}
