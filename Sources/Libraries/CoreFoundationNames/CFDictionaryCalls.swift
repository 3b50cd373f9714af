// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import ValetSecItem

// CoreFoundation's calls on dictionaries, as code translated from C builds and reads requests.
// Keys and values are objects, whatever callbacks a call is given.

/// How a dictionary treats its keys or values. Without effect: they are objects.
public struct CFDictionaryCallBacks: Sendable {
    /// The callbacks of objects.
    public init() {}
}

/// How a dictionary treats its keys.
public typealias CFDictionaryKeyCallBacks = CFDictionaryCallBacks
/// How a dictionary treats its values.
public typealias CFDictionaryValueCallBacks = CFDictionaryCallBacks

/// The callbacks of keys that are objects. Assigning has no effect; `&` needs a variable.
public var kCFTypeDictionaryKeyCallBacks: CFDictionaryKeyCallBacks {
    get { CFDictionaryKeyCallBacks() }
    set {}
}

/// The callbacks of keys that are texts. Assigning has no effect; `&` needs a variable.
public var kCFCopyStringDictionaryKeyCallBacks: CFDictionaryKeyCallBacks {
    get { CFDictionaryKeyCallBacks() }
    set {}
}

/// The callbacks of values that are objects. Assigning has no effect; `&` needs a variable.
public var kCFTypeDictionaryValueCallBacks: CFDictionaryValueCallBacks {
    get { CFDictionaryValueCallBacks() }
    set {}
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// Creates a dictionary of keys and values, each the address of a living object.
///
/// - Parameters:
///   - allocator: Without effect.
///   - numValues: How many keys and values there are; of equal keys the first counts.
///   - keyCallBacks: Without effect.
///   - valueCallBacks: Without effect.
/// - Returns: nil if an array or an address is null.
public func CFDictionaryCreate(
    _ allocator: CFAllocator?, _ keys: UnsafeMutablePointer<UnsafeRawPointer?>?,
    _ values: UnsafeMutablePointer<UnsafeRawPointer?>?, _ numValues: CFIndex,
    _ keyCallBacks: UnsafePointer<CFDictionaryKeyCallBacks>?,
    _ valueCallBacks: UnsafePointer<CFDictionaryValueCallBacks>?
) -> CFDictionary! {
    let dictionary = NSMutableDictionary()
    for index in 0..<max(0, numValues) {
        guard let key = unsafe keys?[index], let value = unsafe values?[index] else { return nil }
        unsafe CFDictionaryAddValue(dictionary, key, value)
    }
    return dictionary
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// Creates an empty dictionary. All parameters are without effect.
public func CFDictionaryCreateMutable(
    _ allocator: CFAllocator?, _ capacity: CFIndex,
    _ keyCallBacks: UnsafePointer<CFDictionaryKeyCallBacks>?,
    _ valueCallBacks: UnsafePointer<CFDictionaryValueCallBacks>?
) -> CFMutableDictionary! {
    NSMutableDictionary()
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// Creates a dictionary with the contents of another. `allocator` is without effect.
public func CFDictionaryCreateCopy(
    _ allocator: CFAllocator?, _ theDict: CFDictionary?
) -> CFDictionary! {
    theDict?.copy() as? NSDictionary
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// Creates a dictionary that can change, with the contents of another. `allocator` and `capacity`
/// are without effect.
public func CFDictionaryCreateMutableCopy(
    _ allocator: CFAllocator?, _ capacity: CFIndex, _ theDict: CFDictionary?
) -> CFMutableDictionary! {
    theDict?.mutableCopy() as? NSMutableDictionary
}

/// Adds a value unless the dictionary has its key. Both are addresses of living objects.
public func CFDictionaryAddValue(
    _ theDict: CFMutableDictionary?, _ key: UnsafeRawPointer?, _ value: UnsafeRawPointer?
) {
    guard let theDict, let key = unsafe object(at: key), theDict.object(forKey: key) == nil,
        let value = unsafe object(at: value)
    else { return }
    theDict.setObject(value, forKey: key)
}

/// Adds or replaces a value. Both are addresses of living objects.
public func CFDictionarySetValue(
    _ theDict: CFMutableDictionary?, _ key: UnsafeRawPointer?, _ value: UnsafeRawPointer?
) {
    guard let key = unsafe object(at: key), let value = unsafe object(at: value) else { return }
    theDict?.setObject(value, forKey: key)
}

/// Removes a value if the dictionary has its key, the address of a living object.
public func CFDictionaryRemoveValue(
    _ theDict: CFMutableDictionary?, _ key: UnsafeRawPointer?
) {
    if let key = unsafe object(at: key) { theDict?.removeObject(forKey: key) }
}

/// Removes all values.
public func CFDictionaryRemoveAllValues(_ theDict: CFMutableDictionary?) {
    theDict?.removeAllObjects()
}

/// How many values a dictionary has; 0 for nil.
public func CFDictionaryGetCount(_ theDict: CFDictionary?) -> CFIndex { theDict?.count ?? 0 }

/// Whether a dictionary has a key, the address of a living object.
public func CFDictionaryContainsKey(
    _ theDict: CFDictionary?, _ key: UnsafeRawPointer?
) -> Bool {
    guard let key = unsafe object(at: key) else { return false }
    return theDict?.object(forKey: key) != nil
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The address of the value under a key. The key is the address of a living object. The result is
/// valid as long as the dictionary lives and has that value.
///
/// - Returns: nil for a dictionary without the key.
public func CFDictionaryGetValue(
    _ theDict: CFDictionary?, _ key: UnsafeRawPointer?
) -> UnsafeRawPointer! {
    guard let theDict, let key = unsafe object(at: key), let value = theDict.object(forKey: key)
    else { return nil }
    let address = Loans.address(of: value, under: key, lentBy: theDict)
    return unsafe UnsafeRawPointer(bitPattern: address)
}

/// Whether a dictionary has a key; if so, `value` becomes what ``CFDictionaryGetValue(_:_:)``
/// returns.
public func CFDictionaryGetValueIfPresent(
    _ theDict: CFDictionary?, _ key: UnsafeRawPointer?,
    _ value: UnsafeMutablePointer<UnsafeRawPointer?>?
) -> Bool {
    guard let found = unsafe CFDictionaryGetValue(theDict, key) else { return false }
    unsafe value?.pointee = unsafe found
    return true
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The address of a value in an array. It is valid as long as the array lives and has that value
/// at that index.
///
/// - Returns: nil for an index out of bounds.
public func CFArrayGetValueAtIndex(_ theArray: CFArray?, _ idx: CFIndex) -> UnsafeRawPointer! {
    guard let theArray, idx >= 0, idx < theArray.count else { return nil }
    let address = Loans.address(
        of: theArray.object(at: idx), under: NSNumber(value: idx), lentBy: theArray)
    return unsafe UnsafeRawPointer(bitPattern: address)
}

/// The object at an address; nil for null, and for an object that no dictionary takes as a key.
private func object(at address: UnsafeRawPointer?) -> NSObject? {
    guard let address = unsafe address else { return nil }
    return unsafe Unmanaged<AnyObject>.fromOpaque(address).takeUnretainedValue() as? NSObject
}
