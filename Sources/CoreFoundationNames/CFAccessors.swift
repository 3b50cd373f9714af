// SPDX-License-Identifier: Apache-2.0

public import Foundation

// CoreFoundation's calls that read a result.

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
