// SPDX-License-Identifier: Apache-2.0

public import Foundation

// The names under which code for Apple's systems speaks of these types.

/// Text: the keys of dictionaries, and most attributes.
public typealias CFString = String
/// The requests that the calls take; `as CFDictionary` makes one of every dictionary with text
/// keys.
public typealias CFDictionary = [String: Any]
/// What the calls give back: `NSData`, `NSDictionary` or `NSArray`, which `as?` turns into values.
public typealias CFTypeRef = AnyObject
/// Bytes.
public typealias CFData = Data
/// A number.
public typealias CFNumber = NSNumber
/// A truth value.
public typealias CFBoolean = NSNumber
/// A point in time.
public typealias CFDate = Date
/// A list.
public typealias CFArray = [Any]
/// An error with a domain.
public typealias CFError = NSError
/// The number of a type.
public typealias CFTypeID = UInt
/// The bits of a set of options.
public typealias CFOptionFlags = UInt
/// A count, or a place in a list.
public typealias CFIndex = Int

/// What a call says of its success: 0, or one of the `errSec…` codes.
public typealias OSStatus = Int32

/// What memory comes from. There is one, and nobody holds it.
public final class CFAllocator: Sendable {
    private init() {}
}
/// The allocator that everybody uses.
public let kCFAllocatorDefault: CFAllocator? = nil

// Optional in name only, as on Apple's systems, so that `kCFBooleanTrue!` builds, too.
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// Yes, as an object.
public let kCFBooleanTrue: CFBoolean! = NSNumber(value: true)
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// No, as an object.
public let kCFBooleanFalse: CFBoolean! = NSNumber(value: false)
