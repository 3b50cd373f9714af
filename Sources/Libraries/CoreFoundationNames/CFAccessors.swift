// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainServices
public import ValetSecItem

// CoreFoundation's calls that read a result or an error: its type, its contents, and whether two
// are equal. The type ids are our own; as on Apple's systems they are valid within a process.

/// The type id of `object`; 0 for nil, and for an object of none of the types below.
public func CFGetTypeID(_ object: CFTypeRef?) -> CFTypeID {
    switch object {
    case nil: 0
    case is NSNull: CFNullGetTypeID()
    case is NSString: CFStringGetTypeID()
    case is NSDictionary: CFDictionaryGetTypeID()
    case is NSArray: CFArrayGetTypeID()
    case is NSSet: CFSetGetTypeID()
    case is NSData: CFDataGetTypeID()
    case is NSDate: CFDateGetTypeID()
    case is NSError: CFErrorGetTypeID()
    case is SecAccessControl: SecAccessControlGetTypeID()
    // The two booleans are objects that no number is identical to.
    case let number as NSNumber where number === kCFBooleanTrue || number === kCFBooleanFalse:
        CFBooleanGetTypeID()
    case is NSNumber: CFNumberGetTypeID()
    default: 0
    }
}

/// The type id of nulls.
public func CFNullGetTypeID() -> CFTypeID { 16 }

/// The type id of texts.
public func CFStringGetTypeID() -> CFTypeID { 7 }

/// The type id of dictionaries.
public func CFDictionaryGetTypeID() -> CFTypeID { 18 }

/// The type id of arrays.
public func CFArrayGetTypeID() -> CFTypeID { 19 }

/// The type id of sets.
public func CFSetGetTypeID() -> CFTypeID { 17 }

/// The type id of data.
public func CFDataGetTypeID() -> CFTypeID { 20 }

/// The type id of booleans.
public func CFBooleanGetTypeID() -> CFTypeID { 21 }

/// The type id of numbers that are not booleans.
public func CFNumberGetTypeID() -> CFTypeID { 22 }

/// The type id of dates.
public func CFDateGetTypeID() -> CFTypeID { 42 }

/// The type id of errors.
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

/// How many values a set has; 0 for nil.
public func CFSetGetCount(_ theSet: CFSet?) -> CFIndex { theSet?.count ?? 0 }

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// Data with a copy of `length` bytes. `allocator` is without effect.
///
/// - Returns: nil for a negative length, and if `bytes` is nil and the length is not 0.
public func CFDataCreate(
    _ allocator: CFAllocator?, _ bytes: UnsafePointer<UInt8>?, _ length: CFIndex
) -> CFData! {
    guard length > 0 else { return length == 0 ? NSData() : nil }
    return unsafe bytes.map { unsafe NSData(bytes: $0, length: length) }
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// Data that uses `length` bytes where they are. They must not change while the data is alive.
///
/// - Parameters:
///   - allocator: Without effect.
///   - bytesDeallocator: `kCFAllocatorNull` if the caller frees the bytes. With any other value,
///     the data frees them with `free` when it is deallocated.
/// - Returns: nil for a negative length, and if `bytes` is nil and the length is not 0.
public func CFDataCreateWithBytesNoCopy(
    _ allocator: CFAllocator?, _ bytes: UnsafePointer<UInt8>?, _ length: CFIndex,
    _ bytesDeallocator: CFAllocator?
) -> CFData! {
    guard length >= 0 else { return nil }
    guard let bytes = unsafe bytes else { return length == 0 ? NSData() : nil }
    // The data is immutable, so it only reads the bytes.
    return unsafe NSData(
        bytesNoCopy: UnsafeMutableRawPointer(mutating: bytes), length: length,
        freeWhenDone: bytesDeallocator !== kCFAllocatorNull)
}

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

// The calls that read the error of a failed call.

/// The domain of errors whose code is an `OSStatus`.
@safe nonisolated(unsafe) public let kCFErrorDomainOSStatus = constant(NSOSStatusErrorDomain)
/// The domain of errors whose code is an `errno`.
@safe nonisolated(unsafe) public let kCFErrorDomainPOSIX = constant(NSPOSIXErrorDomain)
/// The domain of the errors of Foundation.
@safe nonisolated(unsafe) public let kCFErrorDomainCocoa = constant(NSCocoaErrorDomain)

/// An error with a code of `domain`.
///
/// - Parameters:
///   - allocator: Without effect.
///   - userInfo: The texts that the accessors below return, under the keys of `NSError`.
public func CFErrorCreate(
    _ allocator: CFAllocator?, _ domain: CFString, _ code: CFIndex, _ userInfo: CFDictionary?
) -> CFError {
    NSError(domain: domain as String, code: code, userInfo: userInfo as? [String: Any])
}

/// The code of an error, such as an `OSStatus`; 0 for no error.
public func CFErrorGetCode(_ error: CFError?) -> CFIndex { error?.code ?? 0 }

// Optional in name only, as on Apple's systems: `as String` builds, and so does `?? ""`.
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The domain that the code of an error belongs to; nil for no error.
public func CFErrorGetDomain(_ error: CFError?) -> CFString! { error.map { $0.domain as NSString } }

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The description of an error, for people; nil for no error.
public func CFErrorCopyDescription(_ error: CFError?) -> CFString! {
    error.map { $0.localizedDescription as NSString }
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The reason of a failure; nil if the error has none.
public func CFErrorCopyFailureReason(_ error: CFError?) -> CFString! {
    error?.localizedFailureReason.map { $0 as NSString }
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The remedy; nil if the error has none.
public func CFErrorCopyRecoverySuggestion(_ error: CFError?) -> CFString! {
    error?.localizedRecoverySuggestion.map { $0 as NSString }
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The dictionary that an error carries; nil for no error.
public func CFErrorCopyUserInfo(_ error: CFError?) -> CFDictionary! {
    error.map { $0.userInfo as NSDictionary }
}
