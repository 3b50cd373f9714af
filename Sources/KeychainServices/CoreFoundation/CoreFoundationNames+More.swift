// SPDX-License-Identifier: Apache-2.0

public import Foundation

// Names that stand beside SecItem now and then.

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

/// Nothing, as an object; no attribute takes it.
public let kCFNull: CFNull = NSNull()
