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
/// A count, or a place in a list.
public typealias CFIndex = Int
/// Bits that stand for options.
public typealias CFOptionFlags = UInt
/// A span of time in seconds.
public typealias CFTimeInterval = Double
/// Seconds since the start of 2001.
public typealias CFAbsoluteTime = Double
/// Nothing, as an object.
public typealias CFNull = NSNull

/// What the code of an error belongs to.
public typealias CFErrorDomain = CFString
/// Four characters in a number, the first in the highest byte: a creator, a type.
public typealias FourCharCode = UInt32
/// Four characters in a number, by an older name.
public typealias OSType = UInt32

/// What a call says of its success: 0, or one of the `errSec…` codes.
public typealias OSStatus = Int32

// Optional in name only, as on Apple's systems, so that `kCFBooleanTrue!` builds, too.
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// Yes, as an object.
public let kCFBooleanTrue: CFBoolean! = NSNumber(value: true)
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// No, as an object.
public let kCFBooleanFalse: CFBoolean! = NSNumber(value: false)
/// Nothing, as an object; no attribute takes it.
public let kCFNull: CFNull = NSNull()
