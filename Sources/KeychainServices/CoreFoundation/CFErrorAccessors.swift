// SPDX-License-Identifier: Apache-2.0

public import Foundation

// What code for Apple's systems asks an error that a call left behind.

/// The domain of errors whose code is an `OSStatus`.
public let kCFErrorDomainOSStatus: CFString = NSOSStatusErrorDomain
/// The domain of errors whose code is an `errno`.
public let kCFErrorDomainPOSIX: CFString = NSPOSIXErrorDomain
/// The domain of the errors of Foundation.
public let kCFErrorDomainCocoa: CFString = NSCocoaErrorDomain

/// An error with a code of `domain`.
///
/// - Parameters:
///   - allocator: Without effect.
///   - userInfo: What the accessors below give back, under the keys of `NSError`.
public func CFErrorCreate(
    _ allocator: CFAllocator?, _ domain: CFString, _ code: CFIndex, _ userInfo: CFDictionary?
) -> CFError {
    NSError(domain: domain, code: code, userInfo: userInfo)
}

/// The code of an error, such as an `OSStatus`; 0 for no error.
public func CFErrorGetCode(_ error: CFError?) -> CFIndex { error?.code ?? 0 }

// Optional in name only, as on Apple's systems: `as String` builds, and so does `?? ""`.
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// The domain that the code of an error belongs to; nil for no error.
public func CFErrorGetDomain(_ error: CFError?) -> CFString! { error?.domain }

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// What an error says of itself, for people to read; nil for no error.
public func CFErrorCopyDescription(_ error: CFError?) -> CFString! {
    error?.localizedDescription
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// Why something failed; nil if the error does not say.
public func CFErrorCopyFailureReason(_ error: CFError?) -> CFString! {
    error?.localizedFailureReason
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// What would help; nil if the error does not say.
public func CFErrorCopyRecoverySuggestion(_ error: CFError?) -> CFString! {
    error?.localizedRecoverySuggestion
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// Everything that an error carries; nil for no error.
public func CFErrorCopyUserInfo(_ error: CFError?) -> CFDictionary! { error?.userInfo }
