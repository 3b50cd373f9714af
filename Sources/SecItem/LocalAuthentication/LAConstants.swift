// SPDX-License-Identifier: Apache-2.0

public import Foundation

// The names that C has for the constants; their values are those of Apple's systems.

/// The domain of ``LAError``.
public let LAErrorDomain: String = "com.apple.LocalAuthentication"
/// The longest time that ``LAContext/touchIDAuthenticationAllowableReuseDuration`` has an effect
/// for, in seconds.
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: TimeInterval = 300

/// ``LAPolicy/deviceOwnerAuthenticationWithBiometrics``
public let kLAPolicyDeviceOwnerAuthenticationWithBiometrics: Int32 = 1
/// ``LAPolicy/deviceOwnerAuthentication``
public let kLAPolicyDeviceOwnerAuthentication: Int32 = 2
/// ``LAPolicy/deviceOwnerAuthenticationWithWatch``
public let kLAPolicyDeviceOwnerAuthenticationWithWatch: Int32 = 3
/// ``LAPolicy/deviceOwnerAuthenticationWithBiometricsOrWatch``
public let kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrWatch: Int32 = 4
/// ``LAPolicy/deviceOwnerAuthenticationWithWristDetection``
public let kLAPolicyDeviceOwnerAuthenticationWithWristDetection: Int32 = 5

/// ``LABiometryType/none``
public let kLABiometryTypeNone: Int32 = 0
/// ``LABiometryType/touchID``
public let kLABiometryTypeTouchID: Int32 = 1
/// ``LABiometryType/faceID``
public let kLABiometryTypeFaceID: Int32 = 2
/// ``LABiometryType/opticID``
public let kLABiometryTypeOpticID: Int32 = 4

/// ``LACredentialType/applicationPassword``
public let kLACredentialTypeApplicationPassword: Int32 = 0

/// Where a call stores why it failed; nil if the caller does not need it.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
