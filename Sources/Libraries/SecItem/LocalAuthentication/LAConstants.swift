// SPDX-License-Identifier: Apache-2.0

public import Foundation

// The names that C has for constants of this framework. Their values are those of Apple's systems.

/// The domain of ``LAError``.
public let LAErrorDomain: String = "com.apple.LocalAuthentication"
/// The largest value of ``LAContext/touchIDAuthenticationAllowableReuseDuration``, in seconds.
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

// The names that C has for the codes of `LAError`.

/// ``LAError/Code/authenticationFailed``
public let kLAErrorAuthenticationFailed: Int32 = -1
/// ``LAError/Code/userCancel``
public let kLAErrorUserCancel: Int32 = -2
/// ``LAError/Code/userFallback``
public let kLAErrorUserFallback: Int32 = -3
/// ``LAError/Code/systemCancel``
public let kLAErrorSystemCancel: Int32 = -4
/// ``LAError/Code/passcodeNotSet``
public let kLAErrorPasscodeNotSet: Int32 = -5
/// ``LAError/Code/biometryNotAvailable``
public let kLAErrorBiometryNotAvailable: Int32 = -6
/// ``LAError/Code/biometryNotEnrolled``
public let kLAErrorBiometryNotEnrolled: Int32 = -7
/// ``LAError/Code/biometryLockout``
public let kLAErrorBiometryLockout: Int32 = -8
/// The name that older code has for ``kLAErrorBiometryNotAvailable``.
public let kLAErrorTouchIDNotAvailable: Int32 = kLAErrorBiometryNotAvailable
/// The name that older code has for ``kLAErrorBiometryNotEnrolled``.
public let kLAErrorTouchIDNotEnrolled: Int32 = kLAErrorBiometryNotEnrolled
/// The name that older code has for ``kLAErrorBiometryLockout``.
public let kLAErrorTouchIDLockout: Int32 = kLAErrorBiometryLockout
/// ``LAError/Code/appCancel``
public let kLAErrorAppCancel: Int32 = -9
/// ``LAError/Code/invalidContext``
public let kLAErrorInvalidContext: Int32 = -10
/// ``LAError/Code/companionNotAvailable``
public let kLAErrorCompanionNotAvailable: Int32 = -11
/// The name that older code has for ``kLAErrorCompanionNotAvailable``.
public let kLAErrorWatchNotAvailable: Int32 = kLAErrorCompanionNotAvailable
/// ``LAError/Code/biometryNotPaired``
public let kLAErrorBiometryNotPaired: Int32 = -12
/// ``LAError/Code/biometryDisconnected``
public let kLAErrorBiometryDisconnected: Int32 = -13
/// ``LAError/Code/invalidDimensions``
public let kLAErrorInvalidDimensions: Int32 = -14
/// ``LAError/Code/notInteractive``
public let kLAErrorNotInteractive: Int32 = -1004
