// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainServices
public import ValetSecItem

// What code for Apple's systems asks an error that a call left behind.

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
///   - userInfo: What the accessors below give back, under the keys of `NSError`.
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
/// What an error says of itself, for people to read; nil for no error.
public func CFErrorCopyDescription(_ error: CFError?) -> CFString! {
    error.map { $0.localizedDescription as NSString }
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// Why something failed; nil if the error does not say.
public func CFErrorCopyFailureReason(_ error: CFError?) -> CFString! {
    error?.localizedFailureReason.map { $0 as NSString }
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// What would help; nil if the error does not say.
public func CFErrorCopyRecoverySuggestion(_ error: CFError?) -> CFString! {
    error?.localizedRecoverySuggestion.map { $0 as NSString }
}

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
/// Everything that an error carries; nil for no error.
public func CFErrorCopyUserInfo(_ error: CFError?) -> CFDictionary! {
    error.map { $0.userInfo as NSDictionary }
}
