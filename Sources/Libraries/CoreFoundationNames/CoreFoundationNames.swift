// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import ValetSecItem

// The types of CoreFoundation, by the names that code for Apple's systems uses. Those of
// objects are the Foundation classes that Apple's systems bridge them to without a cast
// (docs/decisions/0057); the others are numbers.

/// Text: the keys of dictionaries, and most attributes.
public typealias CFString = NSString
/// Text that can change.
public typealias CFMutableString = NSMutableString
/// A request of the SecItem calls. `as CFDictionary` converts every Swift dictionary.
public typealias CFDictionary = NSDictionary
/// A dictionary that can change.
public typealias CFMutableDictionary = NSMutableDictionary
/// Any object. Results are `NSData`, `NSDictionary` or `NSArray`, which `as?` converts to values.
public typealias CFTypeRef = AnyObject
/// An object in a property list.
public typealias CFPropertyList = AnyObject
/// Bytes.
public typealias CFData = NSData
/// Bytes that can change.
public typealias CFMutableData = NSMutableData
/// A number.
public typealias CFNumber = NSNumber
/// A Boolean.
public typealias CFBoolean = NSNumber
/// A point in time.
public typealias CFDate = NSDate
/// A list.
public typealias CFArray = NSArray
/// A list that can change.
public typealias CFMutableArray = NSMutableArray
/// Values without an order, each once.
public typealias CFSet = NSSet
/// A set that can change.
public typealias CFMutableSet = NSMutableSet
/// An error with a domain.
public typealias CFError = NSError
/// A URL.
public typealias CFURL = NSURL
/// Nothing, as an object.
public typealias CFNull = NSNull
/// The id of a type.
public typealias CFTypeID = UInt
/// The hash of an object.
public typealias CFHashCode = UInt
/// The bits of a set of options.
public typealias CFOptionFlags = UInt
/// A count, or a place in a list.
public typealias CFIndex = Int
/// A span of time in seconds.
public typealias CFTimeInterval = Double
/// Seconds since the start of 2001.
public typealias CFAbsoluteTime = Double
/// The namespace of an error's code.
public typealias CFErrorDomain = CFString
/// Four characters in a number, the first in the highest byte: a creator, a type.
public typealias FourCharCode = UInt32
/// Four characters in a number, by an older name.
public typealias OSType = UInt32

/// The default allocator. Of all allocators, only ``kCFAllocatorNull`` has an effect: it frees
/// nothing.
public let kCFAllocatorDefault: CFAllocator? = nil
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The allocator that frees nothing: for bytes that the caller keeps.
public let kCFAllocatorNull: CFAllocator! = CFAllocator.null
/// Null, as an object. No attribute accepts it.
public let kCFNull: CFNull = NSNull()

// Optional in name only, as on Apple's systems, so that `kCFBooleanTrue!` builds, too.
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// True, as an object.
public let kCFBooleanTrue: CFBoolean! = NSNumber(value: true)
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// False, as an object.
public let kCFBooleanFalse: CFBoolean! = NSNumber(value: false)

// Nothing changes these objects, but the compiler cannot know that from their type.

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The key of a bundle's identifier in its information dictionary.
@safe nonisolated(unsafe) public let kCFBundleIdentifierKey: CFString! = constant(
    "CFBundleIdentifier")
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The key of a bundle's build number in its information dictionary.
@safe nonisolated(unsafe) public let kCFBundleVersionKey: CFString! = constant("CFBundleVersion")
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The key of a bundle's short name in its information dictionary.
@safe nonisolated(unsafe) public let kCFBundleNameKey: CFString! = constant("CFBundleName")
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The key of a bundle's executable in its information dictionary.
@safe nonisolated(unsafe) public let kCFBundleExecutableKey: CFString! = constant(
    "CFBundleExecutable")
