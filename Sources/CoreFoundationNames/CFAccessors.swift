// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetSecItem

// CoreFoundation's calls that read a result: its type, its contents, and whether two are equal. The
// numbers of types are ours; like Apple's, they hold within a process.

/// The number of the type of `object`; 0 for nil and for an object of no type below.
public func CFGetTypeID(_ object: CFTypeRef?) -> CFTypeID {
    switch object {
    case nil: 0
    case is NSNull: CFNullGetTypeID()
    case is NSString: CFStringGetTypeID()
    case is NSDictionary: CFDictionaryGetTypeID()
    case is NSArray: CFArrayGetTypeID()
    case is NSData: CFDataGetTypeID()
    case is NSDate: CFDateGetTypeID()
    case is NSError: CFErrorGetTypeID()
    case is SecAccessControl: SecAccessControlGetTypeID()
    // The two booleans are objects of their own, which no number is.
    case let number as NSNumber where number === kCFBooleanTrue || number === kCFBooleanFalse:
        CFBooleanGetTypeID()
    case is NSNumber: CFNumberGetTypeID()
    default: 0
    }
}

/// The number of nulls.
public func CFNullGetTypeID() -> CFTypeID { 16 }

/// The number of texts.
public func CFStringGetTypeID() -> CFTypeID { 7 }

/// The number of dictionaries.
public func CFDictionaryGetTypeID() -> CFTypeID { 18 }

/// The number of arrays.
public func CFArrayGetTypeID() -> CFTypeID { 19 }

/// The number of data.
public func CFDataGetTypeID() -> CFTypeID { 20 }

/// The number of booleans.
public func CFBooleanGetTypeID() -> CFTypeID { 21 }

/// The number of numbers that are no booleans.
public func CFNumberGetTypeID() -> CFTypeID { 22 }

/// The number of dates.
public func CFDateGetTypeID() -> CFTypeID { 42 }

/// The number of errors.
public func CFErrorGetTypeID() -> CFTypeID { 27 }

/// Whether both are of one type and equal; two nils are not.
public func CFEqual(_ first: CFTypeRef?, _ second: CFTypeRef?) -> Bool {
    guard let first, let second else { return false }
    if first === second { return true }
    guard CFGetTypeID(first) == CFGetTypeID(second) else { return false }
    return (first as? NSObject)?.isEqual(second) ?? false
}

/// Whether `boolean` is true.
public func CFBooleanGetValue(_ boolean: CFBoolean) -> Bool { boolean.boolValue }

/// How many bytes data has; 0 for nil.
public func CFDataGetLength(_ theData: CFData?) -> CFIndex { theData?.length ?? 0 }

/// The bytes of data, valid as long as the object lives; nil for nil and for no bytes.
public func CFDataGetBytePtr(_ theData: CFData?) -> UnsafePointer<UInt8>? {
    guard let theData, theData.length > 0 else { return nil }
    return unsafe theData.bytes.assumingMemoryBound(to: UInt8.self)
}

/// How many values a list has; 0 for nil.
public func CFArrayGetCount(_ theArray: CFArray?) -> CFIndex { theArray?.count ?? 0 }

/// How many UTF-16 units a text has; 0 for nil.
public func CFStringGetLength(_ theString: CFString?) -> CFIndex { theString?.length ?? 0 }

/// The hash of an object; 0 for nil.
public func CFHash(_ cf: CFTypeRef?) -> CFHashCode {
    UInt(bitPattern: (cf as? NSObject)?.hash ?? 0)
}
