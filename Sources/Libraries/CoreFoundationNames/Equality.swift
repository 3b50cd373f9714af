// SPDX-License-Identifier: Apache-2.0

public import Foundation

// On Apple's systems an object in an `AnyHashable` equals the Swift value that it converts to, and
// has its hash. So a constant finds its value in a dictionary whose keys are texts. Foundation on
// Linux has this for data, URLs and UUIDs alone (docs/decisions/0057).
//
// A number stays an object: as a Swift value it would have one type, and `as?` could no longer
// convert it to another number type.

extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
    // swift-format-ignore: NoLeadingUnderscores
    /// The text, so that both are one key.
    public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as String) }
}

extension NSNumber: @retroactive _HasCustomAnyHashableRepresentation {
    // swift-format-ignore: NoLeadingUnderscores
    /// The Boolean if the object is one of the two Booleans.
    public func _toCustomAnyHashable() -> AnyHashable? {
        if self === kCFBooleanTrue { return AnyHashable(true) }
        if self === kCFBooleanFalse { return AnyHashable(false) }
        return nil
    }
}

extension NSDate: @retroactive _HasCustomAnyHashableRepresentation {
    // swift-format-ignore: NoLeadingUnderscores
    /// The point in time.
    public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as Date) }
}
